// DiffView: a diff as lines, made by `ingest` in its jail, so that nobody else has to read a patch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"

namespace tasks {

// Bounds of a view; what is left out is counted in it.
inline constexpr std::size_t kDiffViewBytes = 1U << 20U;  // of all lines together
inline constexpr std::size_t kDiffViewLine = 2000;        // bytes of one line
inline constexpr std::size_t kDiffViewFiles = 2000;

// A piece of a file. Each line begins with its kind: ' ' context, '-' removed, '+' added,
// '\' the line above has no newline at its end, '~' so many bytes of the line above are left out.
// Numbers of lines follow from the starts by counting.
struct DiffHunk {
  std::int64_t old_start = 0, new_start = 0;
  std::string heading;  // what stands behind "@@": a guess at the enclosing function
  std::vector<std::string> lines;
  bool operator==(const DiffHunk&) const = default;
};

struct FileView {
  char status = 'M';  // as DiffFile::status, but a changed type is a D and an A
  std::string path, old_path;
  std::int64_t old_mode = 0, new_mode = 0;  // git's, as 0100644 octal; 0: not there
  std::int64_t added = 0, removed = 0;      // lines
  bool binary = false;
  std::int64_t cut = 0;  // lines left out at the end
  std::vector<DiffHunk> hunks;
  bool operator==(const FileView&) const = default;
};

// Text is UTF-8; a byte that is none stands as the private code point U+F700 + byte.
struct DiffView {
  std::vector<FileView> files;
  std::int64_t cut = 0;  // files left out at the end
  bool operator==(const DiffView&) const = default;
};

// Canonical JSON {schema:1, files, cut}.
std::string diff_view_to_json(const DiffView& view);
os::Result<DiffView> diff_view_from_json(std::string_view json);

// Bytes as the UTF-8 of a view.
std::string to_shown_utf8(std::string_view bytes);

}  // namespace tasks
