#include "tasks/policy_yaml_fields.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include <fmt/format.h>

#include "sandbox/os/ids.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxGlobs = 1000;
constexpr std::size_t kMaxPath = 1024;

// Edits (insert, remove, replace) that make one word the other.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < right.size(); ++k) {
      const std::size_t replaced = diagonal + (left[i] == right[k] ? 0U : 1U);
      diagonal = std::exchange(row[k + 1], std::min({replaced, row[k] + 1, row[k + 1] + 1}));
    }
  }
  return row.back();
}

bool holds(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Text of the file in a message: short.
std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string hint(std::string_view name, const std::vector<std::string_view>& names) {
  const std::string nearest = nearest_name(name, names);
  return nearest.empty() ? "" : fmt::format("did you mean '{}'? ", nearest);
}

}  // namespace

std::string list_names(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string nearest_name(std::string_view name, std::span<const std::string_view> names) {
  std::string_view nearest;
  std::size_t least = 3;
  // A long word of the file is near to none of ours.
  if (name.size() > 64) return {};
  for (const std::string_view each : names) {
    const std::size_t edits = distance(name, each);
    if (edits >= least || edits >= each.size()) continue;
    least = edits;
    nearest = each;
  }
  return std::string(nearest);
}

bool PolicyFields::open_map(const YamlNode& node, std::string_view what,
                            const AllowedNames& allowed) {
  if (node.kind != YamlNode::Kind::map) {
    add(node.place, fmt::format("{} is a map; allowed keys: {}", what, list_names(allowed.names)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (holds(allowed.names, entry.key)) continue;
    if (holds(allowed.later, entry.key))
      add(entry.place, fmt::format("'{}' is not supported yet", entry.key));
    else
      add(entry.place, fmt::format("unknown key '{}' in {}; {}allowed: {}", shown(entry.key), what,
                                   hint(entry.key, allowed.names), list_names(allowed.names)));
  }
  return true;
}

bool PolicyFields::open_free_map(const YamlNode& node, std::string_view what, std::size_t most) {
  const bool is_map = node.kind == YamlNode::Kind::map;
  if (!is_map) add(node.place, fmt::format("{} is a map of names to values", what));
  if (is_map && node.entries.size() > most)
    add(node.place, fmt::format("{} has {} entries, at most {}", what, node.entries.size(), most));
  return is_map && node.entries.size() <= most;
}

bool PolicyFields::open_list(const YamlNode& node, std::string_view what, std::size_t most) {
  const bool is_list = node.kind == YamlNode::Kind::list;
  if (!is_list) add(node.place, fmt::format("{} is a list: write [one, two]", what));
  if (is_list && node.entries.size() > most)
    add(node.place, fmt::format("{} has {} entries, at most {}", what, node.entries.size(), most));
  return is_list && node.entries.size() <= most;
}

const std::string* PolicyFields::scalar(const YamlNode& node, std::string_view what,
                                        std::string_view expected) {
  if (node.kind == YamlNode::Kind::scalar) return &node.text;
  const char* const found = node.kind == YamlNode::Kind::nothing ? "nothing"
                            : node.kind == YamlNode::Kind::list  ? "a list"
                                                                 : "a map";
  add(node.place, fmt::format("{} is {}, not {}", what, expected, found));
  return nullptr;
}

void PolicyFields::read_text(const YamlNode& node, std::string_view what, std::size_t most,
                             std::string& out) {
  const std::string* const text = scalar(node, what, "text");
  if (text == nullptr) return;
  if (text->empty()) return add(node.place, fmt::format("{} is empty", what));
  if (text->size() > most)
    return add(node.place, fmt::format("{} has {} bytes, at most {}", what, text->size(), most));
  out = *text;
}

void PolicyFields::read_flag(const YamlNode& node, std::string_view what, bool& out) {
  const std::string* const text = scalar(node, what, "true or false");
  if (text == nullptr) return;
  if (*text == "true" || *text == "false")
    out = *text == "true";
  else
    add(node.place, fmt::format("{} is true or false, not '{}'", what, shown(*text)));
}

void PolicyFields::read_integer(const YamlNode& node, std::string_view what, Range range,
                                std::int64_t& out) {
  const std::string expected = fmt::format("a whole number from {} to {}", range.least, range.most);
  const std::string* const text = scalar(node, what, expected);
  if (text == nullptr) return;
  std::int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc{} || stop != end || number < range.least || number > range.most)
    return add(node.place, fmt::format("{} is {}, not '{}'", what, expected, shown(*text)));
  out = number;
}

void PolicyFields::read_integer(const YamlNode& node, std::string_view what, Range range,
                                int& out) {
  std::int64_t number = out;
  read_integer(node, what, range, number);
  out = static_cast<int>(number);
}

void PolicyFields::read_bytes(const YamlNode& node, std::string_view what, Range range,
                              os::Bytes& out) {
  const std::string* const text = scalar(node, what, "a size");
  if (text == nullptr) return;
  const os::Result<os::Bytes> bytes = os::parse_bytes(*text);
  if (!bytes) return add(node.place, fmt::format("{}: {}", what, bytes.error().message));
  const auto count = static_cast<std::int64_t>(bytes->count);
  if (count < range.least || count > range.most) {
    const auto size = [](std::int64_t n) {
      return os::format_bytes({static_cast<std::uint64_t>(n)});
    };
    return add(node.place, fmt::format("{} is from {} to {}, not '{}'", what, size(range.least),
                                       size(range.most), shown(*text)));
  }
  out = *bytes;
}

void PolicyFields::read_duration(const YamlNode& node, std::string_view what, Range range,
                                 std::chrono::milliseconds& out) {
  const std::string* const text = scalar(node, what, "a duration");
  if (text == nullptr) return;
  const auto duration = os::parse_duration(*text);
  if (!duration) return add(node.place, fmt::format("{}: {}", what, duration.error().message));
  if (duration->count() < range.least || duration->count() > range.most) {
    const auto time = [](std::int64_t n) {
      return os::format_duration(std::chrono::milliseconds(n));
    };
    return add(node.place, fmt::format("{} is from {} to {}, not '{}'", what, time(range.least),
                                       time(range.most), shown(*text)));
  }
  out = *duration;
}

void PolicyFields::read_word(const YamlNode& node, std::string_view what,
                             const AllowedNames& allowed, std::size_t& out) {
  const std::string* const text =
      scalar(node, what, fmt::format("one of {}", list_names(allowed.names)));
  if (text == nullptr) return;
  const auto found = std::ranges::find(allowed.names, *text);
  if (found != allowed.names.end())
    out = static_cast<std::size_t>(found - allowed.names.begin());
  else if (holds(allowed.later, *text))
    add(node.place, fmt::format("{} '{}' is not supported yet; allowed: {}", what, *text,
                                list_names(allowed.names)));
  else
    add(node.place, fmt::format("{} is not '{}'; {}allowed: {}", what, shown(*text),
                                hint(*text, allowed.names), list_names(allowed.names)));
}

void PolicyFields::read_path(const YamlNode& node, std::string_view what, PathKind kind,
                             std::string& out) {
  std::string path;
  read_text(node, what, kMaxPath, path);
  if (path.empty()) return;
  std::string_view rest = path;
  if (kind == PathKind::file_or_directory && rest.ends_with('/')) rest.remove_suffix(1);
  bool fits = !rest.empty() && !rest.contains('\n') && !rest.contains('\t');
  while (fits) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    fits = !part.empty() && part != "." && part != ".." && part.size() <= 255;
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  if (!fits)
    return add(node.place, fmt::format("{} is a path below the workspace, without '.', '..' and "
                                       "empty parts, not '{}'",
                                       what, shown(path)));
  out = std::move(path);
}

void PolicyFields::check_glob(Place place, std::string_view glob) {
  std::string why;
  if (glob.empty())
    why = "is empty";
  else if (glob.size() > kMaxPath)
    why = "is longer than 1024 bytes";
  else if (glob.front() == '/')
    why = "begins with '/': paths are relative to the repository";
  else if (glob.back() == '/')
    why = fmt::format("names a directory: write '{}**' for all below it", shown(glob));
  else if (glob.front() == '!')
    why = "begins with '!': globs cannot be negated";
  else if (glob.find_first_of("[]\\") != std::string_view::npos)
    why = "has one of [ ] \\: only '*', '**' and '?' are special";
  if (!why.empty()) add(place, fmt::format("glob '{}' {}", shown(glob), why));
}

void PolicyFields::read_globs(const YamlNode& node, std::string_view what,
                              std::vector<std::string>& out) {
  if (!open_list(node, what, kMaxGlobs)) return;
  for (const YamlEntry& entry : node.entries) {
    const std::string* const glob = scalar(entry.value, what, "a list of globs");
    if (glob == nullptr) continue;
    check_glob(entry.place, *glob);
    out.push_back(*glob);
  }
}

bool PolicyFields::check_name(Place place, std::string_view what, std::string_view name) {
  const bool fits = os::is_plain_name(name);
  if (!fits)
    add(place, fmt::format("{} '{}' is no name: 1 to 64 of a-z, 0-9, '_', '-', '.', first a letter "
                           "or digit",
                           what, shown(name)));
  return fits;
}

}  // namespace tasks
