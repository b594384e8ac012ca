// Files: whole-file reads and durable writes, temporary directories, removal without following
// links.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"

namespace os {

// The whole file; more than `limit` bytes answers exhausted.
Result<std::string> read_file(const std::string& path, std::size_t limit = 64U << 20U);

// The same beneath a directory descriptor (open_beneath rules; regular files only, else invalid).
Result<std::string> read_file_at(int directory, const std::string& path, std::size_t limit);

// Durable replacement: written aside in the same directory, fsync, rename, fsync of the directory.
// After an error the old file is unchanged.
Result<void> write_file_durably(const std::string& path, std::string_view bytes,
                                mode_t mode = 0600);

// The same beneath a directory descriptor; `name` has no '/'.
Result<void> write_file_durably_at(int directory, const std::string& name, std::string_view bytes,
                                   mode_t mode = 0640);

// mkdir -p; existing directories are left as they are.
Result<void> make_directories(const std::string& path, mode_t mode = 0755);

// Names in a directory, sorted, without "." and "..". More than `limit` answers exhausted.
Result<std::vector<std::string>> list_directory(const std::string& path,
                                                std::size_t limit = 1'000'000);

// Removes `name` in `directory` with all below it: fd-relative, never follows a link, never leaves
// the file system, any depth. A missing name is no error.
Result<void> remove_tree_at(int directory, const std::string& name);

// The same for an absolute path whose parent is trusted.
Result<void> remove_tree(const std::string& path);

// A directory under $TMPDIR (or /tmp) that is removed with all below it on destruction.
class TempDir {
 public:
  static Result<TempDir> create(std::string_view prefix = "proofhouse");
  TempDir(TempDir&&) noexcept;
  TempDir& operator=(TempDir&&) noexcept;
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  // "<path>/<name>"
  std::string operator/(std::string_view name) const;

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace os
