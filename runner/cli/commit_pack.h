// CommitPack: a commit of the user's repository and the objects that a server may lack.
#pragma once

#include <string>

#include "sandbox/os/result.h"

namespace runner::cli {

// The repository around a directory: the nearest folder upwards that has `.git` or is a bare
// repository; not_found.
os::Result<std::string> find_repository(const std::string& directory);

struct CommitPack {
  std::string commit;  // 40 hexadecimal digits
  std::string base;    // the same, empty: none was given
  std::string pack;    // bytes; empty: the server has all
};

struct CommitRequest {
  std::string repository;  // path; empty: the one around the working directory
  std::string commit;      // revision
  std::string base;        // revision that the server has; empty: not said
  std::string target;      // the project's branch, "refs/heads/main": what a clone last saw of it
                           // bounds the pack where no base is given
};

// Resolves the revisions and packs what `commit` reaches and the base (or what the clone knows of
// the target) does not. not_found: no such revision; exhausted: more than 64 MiB.
os::Result<CommitPack> pack_commit(const CommitRequest& request);

}  // namespace runner::cli
