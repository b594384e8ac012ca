#include "runner/web/interdiff.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace runner::web {
namespace {

constexpr std::size_t kMostLines = 1500;  // of one file on each side: the table is its square

std::vector<std::string> changes_of(const tasks::FileView& file) {
  std::vector<std::string> lines;
  for (const tasks::DiffHunk& hunk : file.hunks)
    for (const std::string& line : hunk.lines)
      if (line.starts_with('+') || line.starts_with('-')) lines.push_back(line);
  return lines;
}

// Longest common subsequence, by the classic table.
std::vector<std::string> compare(const std::vector<std::string>& a,
                                 const std::vector<std::string>& b) {
  std::vector<std::string> out;
  if (a.size() > kMostLines || b.size() > kMostLines) {
    for (const std::string& line : a) out.push_back("-" + line);
    for (const std::string& line : b) out.push_back("+" + line);
    return out;
  }
  const std::size_t width = b.size() + 1;
  std::vector<std::uint16_t> table((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      table[i * width + j] = a[i] == b[j]
                                 ? static_cast<std::uint16_t>(table[(i + 1) * width + j + 1] + 1)
                                 : std::max(table[(i + 1) * width + j], table[i * width + j + 1]);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      out.push_back(" " + a[i++]);
      ++j;
    } else if (j == b.size() ||
               (i < a.size() && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
      out.push_back("-" + a[i++]);
    } else {
      out.push_back("+" + b[j++]);
    }
  }
  return out;
}

std::map<std::string, const tasks::FileView*> by_path(const tasks::DiffView& view) {
  std::map<std::string, const tasks::FileView*> files;
  for (const tasks::FileView& file : view.files) files.emplace(file.path, &file);
  return files;
}

}  // namespace

tasks::DiffView compare_patches(const tasks::DiffView& earlier, const tasks::DiffView& later) {
  auto before = by_path(earlier);
  auto after = by_path(later);
  for (const auto& [path, file] : before) after.try_emplace(path, nullptr);
  tasks::DiffView view;
  for (const auto& [path, file] : after) {
    const auto found = before.find(path);
    const tasks::FileView* const old = found == before.end() ? nullptr : found->second;
    const auto old_lines = old == nullptr ? std::vector<std::string>{} : changes_of(*old);
    const auto new_lines = file == nullptr ? std::vector<std::string>{} : changes_of(*file);
    if (old != nullptr && file != nullptr && old_lines == new_lines) continue;
    tasks::FileView shown;
    shown.status = file == nullptr ? 'D' : old == nullptr ? 'A' : 'M';
    shown.path = path;
    shown.old_path = path;
    shown.hunks.push_back({.old_start = 1,
                           .new_start = 1,
                           .heading = "lines of the patches",
                           .lines = compare(old_lines, new_lines)});
    const auto count = [&](char kind) {
      return std::ranges::count_if(shown.hunks.front().lines,
                                   [&](const std::string& line) { return line.front() == kind; });
    };
    shown.added = count('+');
    shown.removed = count('-');
    view.files.push_back(std::move(shown));
  }
  return view;
}

}  // namespace runner::web
