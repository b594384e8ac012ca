#include "tasks/git_patch_text.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tasks::git {
namespace {

constexpr std::string_view kNowhere = "/dev/null";
constexpr std::string_view kGitHeader = "diff --git ";

// Lines of a hunk that are still to come.
struct HunkLines {
  std::uint64_t old_lines = 0;
  std::uint64_t new_lines = 0;
  bool is_open() const { return old_lines > 0 || new_lines > 0; }
};

// The count of "-12,5" or "+12" (1 if it is left out).
std::optional<std::uint64_t> range_count(std::string_view range) {
  const std::size_t comma = range.find(',');
  if (comma == range.npos) return 1;
  const std::string_view digits = range.substr(comma + 1);
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return count;
}

// "@@ -a,b +c,d @@"
std::optional<HunkLines> parse_hunk(std::string_view line) {
  if (!line.starts_with("@@ -")) return std::nullopt;
  line.remove_prefix(4);
  const std::size_t plus = line.find(" +");
  const std::size_t end = plus == line.npos ? line.npos : line.find(" @@", plus);
  if (end == line.npos) return std::nullopt;
  const auto old_lines = range_count(line.substr(0, plus));
  const auto new_lines = range_count(line.substr(plus + 2, end - plus - 2));
  if (!old_lines || !new_lines) return std::nullopt;
  return HunkLines{*old_lines, *new_lines};
}

void take_hunk_line(HunkLines& hunk, std::string_view line) {
  const char kind = line.empty() ? ' ' : line.front();
  if (kind != '+' && kind != '\\' && hunk.old_lines > 0) --hunk.old_lines;
  if (kind != '-' && kind != '\\' && hunk.new_lines > 0) --hunk.new_lines;
}

// "name\ttime" without the time.
std::string without_time(std::string_view name) {
  name = name.substr(0, name.find('\t'));
  while (name.ends_with('\r') || name.ends_with(' ')) name.remove_suffix(1);
  return std::string(name);
}

// The name of a "--- name\ttime" line.
std::string header_name(std::string_view line) { return without_time(line.substr(4)); }

std::string without_first_part(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == name.npos ? name : name.substr(slash + 1);
}

// As git quotes a name in a header.
std::string quoted(const std::string& name) {
  const bool is_plain = std::ranges::none_of(name, [](char c) {
    return c == ' ' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20;
  });
  if (is_plain || name.starts_with('"')) return name;
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

class Completer {
 public:
  Completer(std::string_view patch, const std::function<bool(const std::string&)>& is_file)
      : is_file_(is_file) {
    for (std::size_t begin = 0; begin < patch.size();) {
      const std::size_t end = std::min(patch.find('\n', begin), patch.size());
      lines_.push_back(patch.substr(begin, end - begin));
      begin = end + 1;
    }
    ends_with_newline_ = patch.ends_with('\n');
  }

  CompletePatch run() {
    HunkLines hunk;
    Section section = Section::outside;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const std::string_view line = lines_[i];
      if (hunk.is_open()) {
        take_hunk_line(hunk, line);
      } else if (line.starts_with(kGitHeader)) {
        if (section == Section::header) end_header(i);
        section = Section::header;
        copy(with_quoted_names(i), true);
        continue;
      } else if (const auto begun = parse_hunk(line)) {
        hunk = *begun;
        section = Section::body;
      } else if (is_header(i) && section != Section::header) {
        add_header(i);
        section = Section::header;
        ++i;
        continue;
      } else if (section == Section::header && copy_name_line(i)) {
        continue;
      }
      copy(line, i + 1 < lines_.size() || ends_with_newline_);
    }
    if (section == Section::header) end_header(lines_.size());
    return std::move(out_);
  }

 private:
  enum class Section : std::uint8_t { outside, header, body };

  bool is_header(std::size_t i) const {
    return i + 1 < lines_.size() && lines_[i].starts_with("--- ") &&
           lines_[i + 1].starts_with("+++ ");
  }

  // The library takes the header of an empty file for unfinished unless something follows it.
  void end_header(std::size_t next) {
    if (next == 0 || !lines_[next - 1].starts_with("index ")) return;
    if (!out_.text.ends_with('\n')) out_.text += '\n';
    insert("-- ");
  }

  // Copies a header line that holds one name, which the library reads to its first space only.
  bool copy_name_line(std::size_t i) {
    const std::string_view line = lines_[i];
    // Nor does it take contents that follow a rename or a mode without this line between them.
    const std::string_view last = lines_[i - 1];
    const bool lacks_index =
        line.starts_with("--- ") && (last.starts_with("rename to ") ||
                                     last.starts_with("copy to ") || last.starts_with("new mode "));
    if (lacks_index) insert("index 0000000..0000000");
    for (const std::string_view start :
         {"--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "}) {
      if (!line.starts_with(start)) continue;
      copy(std::string(start) + quoted(without_time(line.substr(start.size()))), true);
      return true;
    }
    return false;
  }

  // "diff --git a/x y b/x y" says where the first name ends only if both are the same; a rename has
  // its names on lines of their own.
  std::string with_quoted_names(std::size_t i) const {
    std::string_view names = lines_[i].substr(kGitHeader.size());
    if (names.ends_with('\r')) names.remove_suffix(1);
    const std::size_t half = names.size() / 2;
    std::string left;
    std::string right;
    if (names.size() % 2 == 1 && names[half] == ' ') {
      left = names.substr(0, half);
      right = names.substr(half + 1);
    }
    const bool is_same =
        left.starts_with("a/") && right.starts_with("b/") && left.substr(2) == right.substr(2);
    if (!is_same) {
      left = named_behind(i, " from ");
      right = named_behind(i, " to ");
      if (left.empty() || right.empty() || left.starts_with('"') || right.starts_with('"'))
        return std::string(lines_[i]);
      left = "a/" + left;
      right = "b/" + right;
    }
    return std::string(kGitHeader) + quoted(left) + " " + quoted(right);
  }

  // The name on the line "rename from NAME" (or copy, or to) of the header at line `i`.
  std::string named_behind(std::size_t i, std::string_view word) const {
    for (std::size_t next = i + 1; next < lines_.size() && next < i + 8; ++next) {
      const std::string_view line = lines_[next];
      if (line.starts_with(kGitHeader)) break;
      for (const std::string_view kind : {"rename", "copy"}) {
        const std::string start = std::string(kind) + std::string(word);
        if (line.starts_with(start)) return std::string(line.substr(start.size()));
      }
    }
    return "";
  }

  void copy(std::string_view line, bool has_newline) {
    out_.text.append(line);
    if (has_newline) out_.text += '\n';
    ++written_;
  }

  void insert(const std::string& line) {
    copy(line, true);
    out_.inserted.push_back(written_);
  }

  void add_header(std::size_t i) {
    const std::string old_name = header_name(lines_[i]);
    const std::string new_name = header_name(lines_[i + 1]);
    const bool is_removed = new_name == kNowhere;
    // `diff -uN` names a file that is not there and begins with an empty range.
    const bool is_new = i + 2 < lines_.size() && lines_[i + 2].starts_with("@@ -0,0 +") &&
                        !is_file_(old_name) && !is_file_(without_first_part(old_name));
    const bool is_added = old_name == kNowhere || is_new;
    const std::string& known = is_added ? new_name : old_name;
    const bool is_marked = known.starts_with("a/") || known.starts_with("b/");
    const bool keeps_first = !is_marked && (old_name == kNowhere || is_file_(known));
    // The names as git writes them: the new one names the file unless it is removed.
    std::string name = is_removed ? old_name : new_name;
    if (!keeps_first) name = without_first_part(name);
    insert("diff --git " + quoted("a/" + name) + " " + quoted("b/" + name));
    if (is_added) insert("new file mode 100644");
    if (is_removed) insert("deleted file mode 100644");
    copy("--- " + (is_added ? std::string(kNowhere) : quoted("a/" + name)), true);
    copy("+++ " + (is_removed ? std::string(kNowhere) : quoted("b/" + name)), true);
  }

  const std::function<bool(const std::string&)>& is_file_;
  std::vector<std::string_view> lines_;
  bool ends_with_newline_ = false;
  std::size_t written_ = 0;
  CompletePatch out_;
};

}  // namespace

std::int64_t CompletePatch::original_line(std::int64_t line) const {
  const auto before = std::ranges::count_if(
      inserted, [line](std::size_t added) { return static_cast<std::int64_t>(added) < line; });
  return std::max<std::int64_t>(1, line - before);
}

CompletePatch complete_patch(std::string_view patch,
                             const std::function<bool(const std::string&)>& is_file) {
  return Completer(patch, is_file).run();
}

std::string move_hunks(std::string_view patch, const std::vector<std::int64_t>& starts) {
  std::string moved;
  HunkLines hunk;
  std::size_t next = 0;
  while (!patch.empty()) {
    const std::size_t end = patch.find('\n');
    const std::string_view line = patch.substr(0, end == patch.npos ? patch.size() : end + 1);
    patch.remove_prefix(line.size());
    const auto begun = hunk.is_open() ? std::nullopt : parse_hunk(line);
    if (hunk.is_open()) {
      take_hunk_line(hunk, line.substr(0, line.find('\n')));
    } else if (begun && next < starts.size()) {
      hunk = *begun;
      const std::size_t plus = line.find(" +") + 2;
      moved.append(line.substr(0, plus)).append(std::to_string(starts[next++]));
      moved.append(line.substr(std::min(line.find(',', plus), line.find(" @@", plus))));
      continue;
    }
    moved.append(line);
  }
  return moved;
}

}  // namespace tasks::git
