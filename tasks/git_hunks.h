// Where the hunks of a patch stand in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tasks::git {

// One hunk, as far as the file before the patch is concerned. Lines keep their newline.
struct Hunk {
  std::string header;                    // "@@ -9,14 +9,19 @@"
  std::int64_t line = 0;                 // first line it names, from 1 (0: an empty range)
  std::vector<std::string_view> before;  // context and removed lines, in order
};

// Lines of a text, each with its newline.
std::vector<std::string_view> split_lines(std::string_view text);

// Where a hunk stands, as an index of lines: at its own line plus `shift` if it matches there, else
// the nearest match not before `from`. Empty: nowhere, or the file has more than a bounded search
// looks at.
std::optional<std::size_t> find_hunk(const Hunk& hunk, const std::vector<std::string_view>& lines,
                                     std::size_t from, std::int64_t shift);

// The place where most lines of the hunk stand, for people.
struct NearestMatch {
  std::int64_t line = 0;  // of the file, from 1: the first line that differs; 0: an empty file
  std::string text;       // "nearest match at line 12: 11 of 14 lines; expected '…', found '…'"
};
NearestMatch nearest_match(const Hunk& hunk, const std::vector<std::string_view>& lines);

}  // namespace tasks::git
