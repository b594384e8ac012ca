// Fd: sole owner of a file descriptor, and the few calls that make descriptors.
#pragma once

#include <sys/types.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/os/result.h"

namespace os {

// Move-only owner; closes on destruction. Every descriptor that Proofhouse makes is O_CLOEXEC.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int raw) : raw_(raw) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd(Fd&& other) noexcept : raw_(std::exchange(other.raw_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return raw_; }
  bool is_open() const { return raw_ >= 0; }
  // Gives the descriptor away: the caller closes it.
  int release() { return std::exchange(raw_, -1); }
  void close();
  // A second descriptor of the same open file (F_DUPFD_CLOEXEC).
  Result<Fd> duplicate() const;

 private:
  int raw_ = -1;
};

// open(2) with O_CLOEXEC added. The error names the path.
Result<Fd> open_file(const std::string& path, int flags, mode_t mode = 0600);

// openat2(2) that stays beneath `directory`: no symlink, no magic link, no mount crossing, no "..".
// Refused paths answer invalid (ELOOP, EXDEV), a missing one not_found. `mode` only with O_CREAT.
Result<Fd> open_beneath(int directory, const std::string& path, int flags, mode_t mode = 0);

// Reads up to `limit` bytes to the end; more than `limit` answers exhausted.
Result<std::string> read_all(int fd, std::size_t limit);

// Writes all bytes, also over short writes and EINTR.
Result<void> write_all(int fd, std::string_view bytes);

// A connected pair of SOCK_SEQPACKET unix sockets (one message = one packet).
Result<std::array<Fd, 2>> seqpacket_pair();

// An anonymous memory file holding `bytes`, sealed against every later change (memfd_create(2),
// F_SEAL_WRITE|SHRINK|GROW|SEAL); positioned at its start.
Result<Fd> sealed_memory_file(const char* name, std::string_view bytes);

}  // namespace os
