// What differs between two trees: for people, for digests, for building a third tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tasks/diff_view.h"
#include "tasks/git.h"

namespace tasks::git {

inline constexpr std::size_t kShownDiff = 4U << 20U;  // bytes of the text that is kept

// A diff with its text as shown to reviewers: unified, three lines of context, renames found,
// binary files named only. No attribute of either tree has a say in it.
struct ShownDiff {
  Diff diff;
  std::string text;  // over the limit it is cut at a line, and a last line says so
  DiffView view;     // the same as lines, with bounds of its own
};
os::Result<ShownDiff> show_diff(const Repository& repository, const TreeId& from, const TreeId& to,
                                std::size_t limit = kShownDiff);

// A path that differs; no renames.
struct PathChange {
  std::string path;
  std::string id;  // after; empty: the path is gone
  std::uint32_t mode = 0;
  bool operator==(const PathChange&) const = default;
};
os::Result<std::vector<PathChange>> changed_paths(const Repository& repository, const TreeId& from,
                                                  const TreeId& to);

// Writes the tree that `tree` becomes by these changes. Directories that become empty go. Refused
// (guarded_conflict): a path below what stays a file, or a file in the place of what stays a
// directory.
os::Result<TreeId> change_tree(const Repository& repository, const TreeId& tree,
                               const std::vector<PathChange>& changes, Refuser& refuser);

// The patch base -> head that `ingest` takes: full object ids, binary contents, no renames.
// exhausted over `limit` bytes.
os::Result<std::string> make_patch(const Repository& repository, const CommitId& base,
                                   const CommitId& head, std::size_t limit);

}  // namespace tasks::git
