// Lines of a diff, numbered and paired, for showing them in either form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runner/web/html.h"
#include "tasks/diff_view.h"

namespace runner::web {

// The part of a line that differs from its partner: [begin, end) in bytes; empty: all of it or
// nothing is worth marking.
struct Mark {
  std::size_t begin = 0, end = 0;
};

struct ShownLine {
  char kind = ' ';  // as DiffHunk; 's': removed and added but for white space, shown once
  std::int64_t old_number = 0, new_number = 0;  // 0: not on that side
  std::string_view text;
  Mark mark;
  bool no_newline = false;
  std::int64_t cut = 0;  // bytes of it that are not shown
};

// A line of the old side beside one of the new; either may be missing (nullptr).
struct ShownPair {
  const ShownLine* before = nullptr;
  const ShownLine* after = nullptr;
};

// Numbers the lines of a hunk (whose texts they borrow) and marks what differs within lines that
// replace each other.
std::vector<ShownLine> number_lines(const tasks::DiffHunk& hunk, bool hides_space);
// The same lines side by side; borrows them.
std::vector<ShownPair> pair_lines(const std::vector<ShownLine>& lines);

// The text of a line with its mark.
void add_line_text(Html& out, const ShownLine& line);

}  // namespace runner::web
