#include "tasks/git_hunks.h"

#include <algorithm>
#include <cstdlib>

#include "tasks/git.h"

namespace tasks::git {
namespace {

// Comparisons of lines that a search may take (a second or less).
constexpr std::size_t kMaxWork = 50'000'000;

bool matches_at(const Hunk& hunk, const std::vector<std::string_view>& lines, std::size_t at) {
  if (at > lines.size() || hunk.before.size() > lines.size() - at) return false;
  return std::equal(hunk.before.begin(), hunk.before.end(),
                    lines.begin() + static_cast<std::ptrdiff_t>(at));
}

std::size_t matching_lines(const Hunk& hunk, const std::vector<std::string_view>& lines,
                           std::size_t at) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < hunk.before.size() && at + i < lines.size(); ++i)
    if (hunk.before[i] == lines[at + i]) ++count;
  return count;
}

std::size_t first_difference(const Hunk& hunk, const std::vector<std::string_view>& lines,
                             std::size_t at) {
  std::size_t i = 0;
  while (i < hunk.before.size() && at + i < lines.size() && hunk.before[i] == lines[at + i]) ++i;
  return i;
}

std::string shown(std::string_view line) {
  // A carriage return is the difference that nobody sees.
  std::string ending;
  if (line.ends_with('\n'))
    line.remove_suffix(1);
  else
    ending = " (no newline at the end)";
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
    ending += " (ends with CR)";
  }
  return "'" + printable(line, 120) + "'" + ending;
}

}  // namespace

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == text.npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

std::optional<std::size_t> find_hunk(const Hunk& hunk, const std::vector<std::string_view>& lines,
                                     std::size_t from, std::int64_t shift) {
  const auto last = static_cast<std::int64_t>(lines.size());
  // An empty range "-n,0" stands behind line n, any other begins with it.
  const std::int64_t named =
      hunk.before.empty() ? hunk.line : std::max<std::int64_t>(hunk.line, 1) - 1;
  const std::int64_t wanted = std::clamp<std::int64_t>(named + shift, 0, last);
  const auto first = static_cast<std::int64_t>(from);
  if (wanted >= first && matches_at(hunk, lines, static_cast<std::size_t>(wanted)))
    return static_cast<std::size_t>(wanted);
  // Lines without context stand nowhere else.
  if (hunk.before.empty()) return std::nullopt;
  std::size_t work = 0;
  for (std::int64_t distance = 1; distance <= last; ++distance) {
    for (const std::int64_t at : {wanted - distance, wanted + distance}) {
      if (at < first || at > last) continue;
      if (matches_at(hunk, lines, static_cast<std::size_t>(at)))
        return static_cast<std::size_t>(at);
    }
    work += 2 * hunk.before.size();
    if (work > kMaxWork) break;
  }
  return std::nullopt;
}

NearestMatch nearest_match(const Hunk& hunk, const std::vector<std::string_view>& lines) {
  if (lines.empty()) return {0, "the file is empty"};
  std::size_t best = 0;
  std::size_t most = 0;
  std::size_t work = 0;
  for (std::size_t at = 0; at < lines.size() && work < kMaxWork; ++at) {
    work += hunk.before.size();
    const std::size_t count = matching_lines(hunk, lines, at);
    if (count > most) {
      most = count;
      best = at;
    }
  }
  if (most == 0) {
    const auto line =
        std::clamp<std::int64_t>(hunk.line, 1, static_cast<std::int64_t>(lines.size()));
    return {line, "none of its lines is in the file; line " + std::to_string(line) + " is " +
                      shown(lines[static_cast<std::size_t>(line - 1)])};
  }
  const std::size_t offset = first_difference(hunk, lines, best);
  const bool is_past_end = best + offset >= lines.size();
  const std::string wanted =
      offset < hunk.before.size() ? shown(hunk.before[offset]) : "no further line";
  const std::string found = is_past_end ? "the end of the file" : shown(lines[best + offset]);
  const auto line = static_cast<std::int64_t>(best + offset) + 1;
  return {line, "nearest match at line " + std::to_string(best + 1) + ": " + std::to_string(most) +
                    " of " + std::to_string(hunk.before.size()) + " lines; line " +
                    std::to_string(line) + " should be " + wanted + " and is " + found};
}

}  // namespace tasks::git
