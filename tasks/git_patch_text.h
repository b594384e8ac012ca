// The text of a patch, before the library reads it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tasks::git {

// A patch with a `diff --git` header before every file.
struct CompletePatch {
  std::string text;
  std::vector<std::size_t> inserted;  // numbers (from 1, in `text`) of lines that were added
  // The line of the given patch that line `line` of `text` was.
  std::int64_t original_line(std::int64_t line) const;
};

// Adds the header to files that begin with `---` and `+++` only (`diff -u`). Names lose what stands
// behind a tab (a time) and their first part if both have one that is not a directory of the base:
// `is_file` says whether the base has a file by that path. Lines within hunks are never taken for
// headers. What is no patch stays as it is.
CompletePatch complete_patch(std::string_view patch,
                             const std::function<bool(const std::string&)>& is_file);

// The patch with the line at which each hunk begins in the patched file (`+c` of "@@ -a,b +c,d @@")
// replaced: one number a hunk, in their order. Hunks without a number stay.
std::string move_hunks(std::string_view patch, const std::vector<std::int64_t>& starts);

}  // namespace tasks::git
