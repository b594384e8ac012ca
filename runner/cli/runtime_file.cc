#include "runner/cli/runtime_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "runner/cli/server_address.h"
#include "sandbox/os/files.h"

namespace runner::cli {

os::Result<RuntimeFile> RuntimeFile::open() {
  const AddressSources sources = address_sources();
  const std::string& path = sources.runtime_files.front();
  TRY(os::make_directories(path.substr(0, path.rfind('/')), 0755));
  os::Fd file = TRY(os::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644));
  return RuntimeFile(path, std::move(file));
}

RuntimeFile::~RuntimeFile() {
  if (!file_.is_open() || written_.empty()) return;
  std::array<char, 4096> now{};
  const ssize_t size = ::pread(file_.get(), now.data(), now.size(), 0);
  // Another server may have taken the place meanwhile.
  if (size < 0 || std::string_view(now.data(), static_cast<std::size_t>(size)) != written_) return;
  [[maybe_unused]] const int emptied = ::ftruncate(file_.get(), 0);
}

os::Result<void> RuntimeFile::write(const std::string& url, const std::string& token_file) {
  const std::string text = runtime_file_text(url, token_file);
  // Overwritten in place and then cut: no instant at which it is empty.
  if (::pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0)
    return os::fail_errno("write " + path_);
  written_ = text;
  return {};
}

}  // namespace runner::cli
