// RuntimeFile: where a running server says how to reach it.
#pragma once

#include <string>
#include <utility>

#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// Opened while we still may (root), written when the server listens, emptied when it ends.
// Commands find it by server_address.h.
class RuntimeFile {
 public:
  // $XDG_RUNTIME_DIR/proofhouse/default.json, else /run/proofhouse/default.json.
  static os::Result<RuntimeFile> open();
  RuntimeFile(RuntimeFile&&) noexcept = default;
  RuntimeFile& operator=(RuntimeFile&&) noexcept = default;
  RuntimeFile(const RuntimeFile&) = delete;
  RuntimeFile& operator=(const RuntimeFile&) = delete;
  // Empties the file, if it still says what we wrote.
  ~RuntimeFile();

  os::Result<void> write(const std::string& url, const std::string& token_file);
  const std::string& path() const { return path_; }

 private:
  RuntimeFile(std::string path, os::Fd file) : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  os::Fd file_;
  std::string written_;
};

}  // namespace runner::cli
