#include "tasks/diff_view.h"

#include "sandbox/os/utf8.h"
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

std::string to_shown_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = os::decode_utf8(bytes).bytes;
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
