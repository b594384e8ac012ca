#include "tasks/git_tree.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sandbox/os/digest.h"

namespace tasks::git {
namespace {

constexpr std::size_t kIdBytes = 20;
constexpr std::size_t kMaxName = 255;               // NAME_MAX, man 7 path_resolution
constexpr std::size_t kMaxTreeObject = 32U << 20U;  // over 100,000 entries of the longest names

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), lower);
  return low;
}

// NTFS drops trailing dots and spaces and takes what follows ':' for a stream.
std::string as_ntfs(std::string_view name) {
  name = name.substr(0, name.find(':'));
  while (name.ends_with('.') || name.ends_with(' ')) name.remove_suffix(1);
  return lowered(name);
}

// HFS+ ignores these code points (U+200C..F, U+202A..E, U+206A..F, U+FEFF) in names, as git's
// utf8.c lists them.
std::string as_hfs(std::string_view name) {
  std::string kept;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto at = [&](std::size_t offset) {
      return i + offset < name.size() ? static_cast<unsigned char>(name[i + offset]) : 0U;
    };
    const unsigned code = ((at(0) & 0x0FU) << 12U) | ((at(1) & 0x3FU) << 6U) | (at(2) & 0x3FU);
    const bool is_ignored =
        (at(0) & 0xF0U) == 0xE0U &&
        ((code >= 0x200C && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
         (code >= 0x206A && code <= 0x206F) || code == 0xFEFF);
    if (is_ignored)
      i += 2;
    else
      kept += lower(name[i]);
  }
  return kept;
}

bool is_dot_git(std::string_view name) {
  const std::string ntfs = as_ntfs(name);
  return ntfs == ".git" || ntfs == "git~1" || as_hfs(name) == ".git";
}

std::optional<EntryMode> parse_mode(std::string_view digits) {
  constexpr std::array<std::pair<std::string_view, EntryMode>, 4> kModes{
      {{"40000", EntryMode::directory},
       {"100644", EntryMode::file},
       {"100755", EntryMode::executable},
       {"120000", EntryMode::symlink}}};
  for (const auto& [word, mode] : kModes)
    if (word == digits) return mode;
  return std::nullopt;
}

std::string joined(const std::string& path, std::string_view name) {
  std::string text = path;
  if (!path.empty()) text += '/';
  return text.append(name);
}

// As git sorts: a directory's name as if it ended with '/'.
std::string sort_key(const TreeEntry& entry) {
  return entry.mode == EntryMode::directory ? entry.name + '/' : entry.name;
}

std::uint64_t add(std::uint64_t left, std::uint64_t right) {
  // Far above every limit, far below overflow.
  constexpr std::uint64_t kCeiling = 1ULL << 62U;
  return std::min(left + right, kCeiling);
}

}  // namespace

std::string name_problem(std::string_view name) {
  if (name.empty()) return "an empty name";
  if (name == "." || name == "..") return "the name '" + std::string(name) + "'";
  if (name.contains('/')) return "a name with '/'";
  if (name.contains('\0')) return "a name with a NUL";
  if (name.size() > kMaxName) return "a name of more than 255 bytes";
  // Some systems take '\' for a separator.
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('\\', begin), name.size());
    if (is_dot_git(name.substr(begin, end - begin))) return "a name that can be taken for '.git'";
    begin = end + 1;
  }
  return "";
}

std::string path_problem(std::string_view path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string problem = name_problem(path.substr(begin, end - begin));
    if (!problem.empty()) return problem;
    begin = end + 1;
  }
  return "";
}

os::Result<std::vector<TreeEntry>> parse_tree(std::string_view raw, const std::string& path,
                                              Refuser& refuser) {
  std::vector<TreeEntry> entries;
  std::set<std::string, std::less<>> names;
  std::string last_key;
  while (!raw.empty()) {
    const std::size_t space = raw.find(' ');
    const std::size_t end = space == raw.npos ? raw.npos : raw.find('\0', space);
    if (end == raw.npos || raw.size() - end <= kIdBytes)
      return refuser.refuse({"corrupt_object", path, 0, "a tree object ends within an entry"});
    const std::string_view digits = raw.substr(0, space);
    TreeEntry entry;
    entry.name = raw.substr(space + 1, end - space - 1);
    entry.id = os::to_hex(raw.substr(end + 1, kIdBytes));
    raw.remove_prefix(end + 1 + kIdBytes);
    const std::string at = joined(path, entry.name);
    const std::string problem = name_problem(entry.name);
    if (!problem.empty()) return refuser.refuse({"invalid_path", at, 0, "the tree has " + problem});
    if (digits == "160000")
      return refuser.refuse(
          {"invalid_mode", at, 0, "a submodule (mode 160000): submodules are not supported yet"});
    const std::optional<EntryMode> mode = parse_mode(digits);
    if (!mode)
      return refuser.refuse(
          {"invalid_mode", at, 0,
           "mode " + printable(digits, 20) + "; allowed are 40000, 100644, 100755 and 120000"});
    entry.mode = *mode;
    std::string key = sort_key(entry);
    if (!names.insert(entry.name).second)
      return refuser.refuse({"invalid_path", at, 0, "the name stands twice in its directory"});
    if (key <= last_key)
      return refuser.refuse({"invalid_path", at, 0, "the tree's entries are not sorted"});
    last_key = std::move(key);
    entries.push_back(std::move(entry));
  }
  return entries;
}

os::Result<void> TreeChecker::check(const TreeId& tree) {
  TRY(walk(tree.hex(), "", 1));
  return {};
}

os::Result<TreeChecker::Totals> TreeChecker::walk(const std::string& id, const std::string& path,
                                                  std::uint32_t level) {
  const auto known = trees_.find(id);
  if (known != trees_.end()) {
    Totals totals = known->second;
    totals.depth += level;
    if (totals.depth > limits_.depth)
      return refuser_.refuse({"too_large", path, 0, "directories lie too deep within each other"});
    return known->second;
  }
  if (level > limits_.depth)
    return refuser_.refuse(
        {"too_large", path, 0, "directories lie over " + std::to_string(limits_.depth) + " deep"});
  os::Result<Object> object = repository_.read(id);
  if (!object && object.error().code == os::Code::not_found)
    return refuser_.refuse({"missing_object", path, 0, "the tree object " + id + " is missing"});
  const Object tree = TRY(std::move(object));
  if (tree.type != ObjectType::tree)
    return refuser_.refuse({"corrupt_object", path, 0, id + " is not a tree"});
  if (tree.bytes.size() > kMaxTreeObject)
    return refuser_.refuse({"too_large", path, 0, "the directory has too many entries"});
  Totals totals;
  for (const TreeEntry& entry : TRY(parse_tree(tree.bytes, path, refuser_))) {
    const std::string at = joined(path, entry.name);
    const Totals below = TRY(walk_entry(entry, at, level));
    totals.entries = add(totals.entries, add(below.entries, 1));
    totals.bytes = add(totals.bytes, below.bytes);
    totals.depth = std::max(totals.depth, below.depth);
    totals.path = std::max(totals.path, entry.name.size() + below.path);
    TRY(check_totals(totals, at));
  }
  trees_.emplace(id, totals);
  return totals;
}

os::Result<TreeChecker::Totals> TreeChecker::walk_entry(const TreeEntry& entry,
                                                        const std::string& path,
                                                        std::uint32_t level) {
  if (entry.mode != EntryMode::directory) return Totals{.bytes = TRY(blob_size(entry.id, path))};
  Totals below = TRY(walk(entry.id, path, level + 1));
  below.depth += 1;
  below.path += 1;
  return below;
}

os::Result<std::uint64_t> TreeChecker::blob_size(const std::string& id, const std::string& path) {
  const auto known = blobs_.find(id);
  if (known != blobs_.end()) return known->second;
  const os::Result<ObjectHeader> header = repository_.read_header(id);
  if (!header && header.error().code == os::Code::not_found)
    return refuser_.refuse({"missing_object", path, 0, "the file's object " + id + " is missing"});
  const ObjectHeader blob = TRY(header);
  if (blob.type != ObjectType::blob)
    return refuser_.refuse({"corrupt_object", path, 0, id + " is not a file's object"});
  if (blob.size > limits_.blob)
    return refuser_.refuse(
        {"too_large", path, 0,
         std::to_string(blob.size) + " bytes; a file may have " + std::to_string(limits_.blob)});
  blobs_.emplace(id, blob.size);
  return blob.size;
}

os::Result<void> TreeChecker::check_totals(const Totals& totals, const std::string& path) {
  if (totals.entries > limits_.entries)
    return refuser_.refuse({"too_large", path, 0,
                            "the tree has over " + std::to_string(limits_.entries) + " entries"});
  if (totals.bytes > limits_.bytes)
    return refuser_.refuse(
        {"too_large", path, 0,
         "the tree's files have over " + std::to_string(limits_.bytes) + " bytes"});
  if (totals.path > limits_.path)
    return refuser_.refuse(
        {"too_large", path, 0,
         "the tree has a path of over " + std::to_string(limits_.path) + " bytes"});
  return {};
}

}  // namespace tasks::git
