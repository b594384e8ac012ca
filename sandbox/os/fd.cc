#include "sandbox/os/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace os {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    close();
    raw_ = std::exchange(other.raw_, -1);
  }
  return *this;
}

Fd::~Fd() { close(); }

void Fd::close() {
  if (raw_ >= 0) ::close(raw_);
  raw_ = -1;
}

Result<Fd> Fd::duplicate() const {
  const int copy = ::fcntl(raw_, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) return fail_errno("duplicate descriptor");
  return Fd(copy);
}

Result<Fd> open_file(const std::string& path, int flags, mode_t mode) {
  const int raw = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (raw < 0) return fail_errno("open " + path);
  return Fd(raw);
}

Result<Fd> open_beneath(int directory, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = (flags & O_CREAT) != 0 ? mode : 0U;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const long raw = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
  if (raw < 0) return fail_errno("open " + path);
  return Fd(static_cast<int>(raw));
}

Result<std::string> read_all(int fd, std::size_t limit) {
  std::string bytes;
  // Not cleared: most of what is read here is a line or two.
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read");
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > limit)
      return fail(Code::exhausted, "more than " + std::to_string(limit) + " bytes");
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno("write");
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<std::array<Fd, 2>> seqpacket_pair() {
  std::array<int, 2> raw{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw.data()) != 0)
    return fail_errno("socketpair");
  return std::array<Fd, 2>{Fd(raw[0]), Fd(raw[1])};
}

Result<Fd> sealed_memory_file(const char* name, std::string_view bytes) {
  Fd file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) return fail_errno("memfd_create");
  TRY(write_all(file.get(), bytes));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("seek memory file");
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
      0)
    return fail_errno("seal memory file");
  return file;
}

}  // namespace os
