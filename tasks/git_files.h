// The files of a tree as a list, and a commit made from edits of some of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tasks/git.h"

namespace tasks::git {

struct TreeFile {
  std::string path;
  std::string id;  // of the blob
  std::uint32_t mode = 0;
};

// The regular files below a tree, in its order. Refused: what TreeChecker would refuse of names and
// modes. exhausted: over `limit` files.
os::Result<std::vector<TreeFile>> list_files(const Repository& repository, const TreeId& tree,
                                             std::size_t limit);

// What becomes of files: new contents, or nothing: the file goes. A file that stays keeps its mode.
using FileEdits = std::map<std::string, std::optional<std::string>>;

// The patch that makes the edits of `base`, in the form that `ingest` takes. Writes objects: for a
// repository of open_objects(), in memory.
os::Result<std::string> patch_of_edits(const Repository& repository, const CommitId& base,
                                       const FileEdits& edits);

}  // namespace tasks::git
