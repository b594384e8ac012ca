#include "tasks/diff_view.h"

#include "tasks/json_archive.h"

namespace tasks {
namespace archive {

template <>
struct Fields<DiffHunk> {
  static void visit(auto& archive, auto& hunk) {
    archive("old_start", hunk.old_start);
    archive("new_start", hunk.new_start);
    archive("heading", hunk.heading);
    archive("lines", hunk.lines);
  }
};

template <>
struct Fields<FileView> {
  static void visit(auto& archive, auto& file) {
    archive("status", file.status);
    archive("path", file.path);
    archive("old_path", file.old_path);
    archive("old_mode", file.old_mode);
    archive("new_mode", file.new_mode);
    archive("added", file.added);
    archive("removed", file.removed);
    archive("binary", file.binary);
    archive("cut", file.cut);
    archive("hunks", file.hunks);
  }
};

template <>
struct Fields<DiffView> {
  static void visit(auto& archive, auto& view) {
    archive.schema(1);
    archive("files", view.files);
    archive("cut", view.cut);
  }
};

}  // namespace archive

namespace {

// Length of the UTF-8 sequence that `bytes` begins with; 0 if it begins with none (RFC 3629).
std::size_t sequence_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const unsigned first = at(0);
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0U) == 0x80U; };
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const bool is_overlong = first == 0xE0U && at(1) < 0xA0U;
    const bool is_surrogate = first == 0xEDU && at(1) > 0x9FU;
    return follows(1) && follows(2) && !is_overlong && !is_surrogate ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const bool is_out = (first == 0xF0U && at(1) < 0x90U) || (first == 0xF4U && at(1) > 0x8FU);
    return follows(1) && follows(2) && follows(3) && !is_out ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string to_shown_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = sequence_length(bytes);
    if (length > 0) {
      text.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
      continue;
    }
    // U+F780..U+F7FF in UTF-8: EF 9E 80 .. EF 9F BF.
    const auto byte = static_cast<unsigned char>(bytes.front());
    text += '\xEF';
    text += static_cast<char>(byte < 0xC0U ? 0x9E : 0x9F);
    text += static_cast<char>(0x80U | (byte & 0x3FU));
    bytes.remove_prefix(1);
  }
  return text;
}

std::string diff_view_to_json(const DiffView& view) { return archive::write_record(view); }

os::Result<DiffView> diff_view_from_json(std::string_view json) {
  return archive::read_record<DiffView>(json, "diff view");
}

}  // namespace tasks
