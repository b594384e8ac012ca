// References of a project's repository: reading the target and moving it.
#pragma once

#include <string>
#include <vector>

#include "tasks/git.h"

namespace tasks::git {

// What a reference points to.
struct Tip {
  CommitId commit;
  TreeId tree;
  std::string policy_blob;    // object id of the policy file in that tree; empty: none
  std::string policy_sha256;  // of its bytes
};
// not_found: there is no such reference.
os::Result<Tip> read_tip(const Repository& repository, const std::string& ref);

// A move of `ref` from exactly `from`.
struct RefMove {
  std::string ref;  // "refs/heads/main"
  CommitId from;
  CommitId to;
};

// Moves a reference by compare-and-swap, durably. conflict: it is not at `from` (the message says
// where it is), `to` does not descend from `from`, or a work tree has it checked out; not_found: no
// such reference, or the repository lacks `to`. After an error nothing has moved.
os::Result<void> move_ref(const Repository& repository, const RefMove& move);

// A pack that was strictly indexed, with what it brings.
struct PackToAdd {
  std::string pack;  // paths
  std::string index;
  CommitId commit;  // must be readable afterwards
};

// Copies a pack and its index into the repository at `path`, durably; again is no error. corrupt:
// the commit or its tree cannot be read afterwards.
os::Result<void> add_pack_files(const std::string& path, const PackToAdd& files);

// What stands against keeping a target in a repository.
struct Obstacle {
  std::string code;  // alternates, shallow, not_writable, checked_out, no_target
  std::string text;  // what is wrong, and the command that mends it
  bool operator==(const Obstacle&) const = default;
};

// Looks at the repository at `path` as the place of `ref`; as the calling user.
os::Result<std::vector<Obstacle>> inspect(const std::string& path, const std::string& ref);

// "refs/heads/<name>" that git takes: invalid otherwise.
os::Result<void> check_target_name(const std::string& ref);

}  // namespace tasks::git
