#include "runner/web/diff_lines.h"

#include <algorithm>
#include <charconv>

#include "sandbox/os/utf8.h"

namespace runner::web {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool equal_but_for_space(std::string_view left, std::string_view right) {
  const auto next = [](std::string_view text, std::size_t at) {
    while (at < text.size() && is_space(text[at])) ++at;
    return at;
  };
  std::size_t i = next(left, 0);
  std::size_t j = next(right, 0);
  while (i < left.size() && j < right.size()) {
    if (left[i] != right[j]) return false;
    i = next(left, i + 1);
    j = next(right, j + 1);
  }
  return i == left.size() && j == right.size();
}

// Between the common beginning and the common end, at whole characters. Nothing where the lines
// have so little in common that a mark would only be noise.
void mark_difference(ShownLine& before, ShownLine& after) {
  const std::string_view a = before.text;
  const std::string_view b = after.text;
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t head = 0;
  while (head < most && a[head] == b[head]) ++head;
  while (head > 0 && ((head < a.size() && os::is_utf8_continuation(a[head])) ||
                      (head < b.size() && os::is_utf8_continuation(b[head]))))
    --head;
  std::size_t tail = 0;
  while (tail < most - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  while (tail > 0 && os::is_utf8_continuation(a[a.size() - tail])) --tail;
  if ((head + tail) * 3 < most) return;
  before.mark = {.begin = head, .end = a.size() - tail};
  after.mark = {.begin = head, .end = b.size() - tail};
}

// Pairs a run of removed lines with the run of added lines behind it, one to one.
void mark_replacements(std::vector<ShownLine>& lines) {
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t removed = i;
    while (removed < lines.size() && lines[removed].kind == '-') ++removed;
    std::size_t added = removed;
    while (added < lines.size() && lines[added].kind == '+') ++added;
    for (std::size_t k = 0; i + k < removed && removed + k < added; ++k)
      mark_difference(lines[i + k], lines[removed + k]);
    i = std::max(added, i + 1);
  }
}

// Runs of as many removed as added lines that differ in white space alone become one each.
std::vector<ShownLine> fold_space(const std::vector<ShownLine>& lines) {
  std::vector<ShownLine> folded;
  for (std::size_t i = 0; i < lines.size();) {
    std::size_t removed = i;
    while (removed < lines.size() && lines[removed].kind == '-') ++removed;
    std::size_t added = removed;
    while (added < lines.size() && lines[added].kind == '+') ++added;
    bool is_space_only = removed > i && removed - i == added - removed;
    for (std::size_t k = 0; is_space_only && i + k < removed; ++k)
      is_space_only = equal_but_for_space(lines[i + k].text, lines[removed + k].text);
    const std::size_t end = std::max(added, i + 1);
    for (std::size_t k = i; k < end; ++k) {
      if (!is_space_only) {
        folded.push_back(lines[k]);
      } else if (k >= removed) {
        ShownLine line = lines[k];
        line.kind = 's';
        line.old_number = lines[k - (removed - i)].old_number;
        folded.push_back(line);
      }
    }
    i = end;
  }
  return folded;
}

}  // namespace

std::vector<ShownLine> number_lines(const tasks::DiffHunk& hunk, bool hides_space) {
  std::vector<ShownLine> lines;
  std::int64_t old_number = hunk.old_start;
  std::int64_t new_number = hunk.new_start;
  for (const std::string& raw : hunk.lines) {
    if (raw.empty()) continue;
    const char kind = raw.front();
    const std::string_view text = std::string_view(raw).substr(1);
    if (kind == '\\' || kind == '~') {
      if (lines.empty()) continue;
      if (kind == '\\')
        lines.back().no_newline = true;
      else
        std::from_chars(text.data(), text.data() + text.size(), lines.back().cut);
      continue;
    }
    ShownLine line{.kind = kind,
                   .old_number = kind == '+' ? 0 : old_number,
                   .new_number = kind == '-' ? 0 : new_number,
                   .text = text,
                   .mark = {},
                   .no_newline = false,
                   .cut = 0};
    if (kind != '+') ++old_number;
    if (kind != '-') ++new_number;
    lines.push_back(line);
  }
  if (hides_space) lines = fold_space(lines);
  mark_replacements(lines);
  return lines;
}

std::vector<ShownPair> pair_lines(const std::vector<ShownLine>& lines) {
  std::vector<ShownPair> pairs;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].kind == ' ' || lines[i].kind == 's') {
      pairs.push_back({.before = &lines[i], .after = &lines[i]});
      ++i;
      continue;
    }
    std::size_t removed = i;
    while (removed < lines.size() && lines[removed].kind == '-') ++removed;
    std::size_t added = removed;
    while (added < lines.size() && lines[added].kind == '+') ++added;
    const std::size_t rows = std::max(removed - i, added - removed);
    for (std::size_t k = 0; k < rows; ++k)
      pairs.push_back({.before = i + k < removed ? &lines[i + k] : nullptr,
                       .after = removed + k < added ? &lines[removed + k] : nullptr});
    i = std::max(added, i + 1);
  }
  return pairs;
}

void add_line_text(Html& out, const ShownLine& line) {
  const std::string_view text = line.text;
  if (line.mark.end <= line.mark.begin) {
    out.code(text);
  } else {
    out.code(text.substr(0, line.mark.begin));
    out << "<mark>";
    out.code(text.substr(line.mark.begin, line.mark.end - line.mark.begin));
    out << "</mark>";
    out.code(text.substr(line.mark.end));
  }
  if (line.cut > 0) out << " <b class=\"x\">+" << line.cut << " bytes</b>";
  if (line.no_newline) out << " <b class=\"x\" title=\"no newline at the end\">no newline</b>";
}

}  // namespace runner::web
