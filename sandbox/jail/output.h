// Output: what a command printed, bounded: its head as it comes, its tail at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/os/fd.h"
#include "sandbox/os/units.h"

namespace sandbox::jail {

// Owner and group of the files that a jail leaves for its attempt.
struct FileOwner {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

// Makes `name` in `directory` with mode 0640 (files) or 02750 (directories), owned as said.
os::Result<os::Fd> create_owned_file(int directory, const std::string& name, FileOwner owner);
os::Result<os::Fd> create_owned_directory(int directory, const std::string& name, FileOwner owner);

// Keeps the first half of `keep` bytes in the file `head`, appended as it comes so that it can be
// followed, and the last half in memory, which becomes `tail`. If nothing was lost in between, all
// of it ends up in `head`.
class Output {
 public:
  static os::Result<Output> create(int directory, FileOwner owner, os::Bytes keep);

  os::Result<void> append(std::string_view bytes);
  // Writes what is held back. Call once, last.
  os::Result<void> finish();

  // The first bytes, at most kBeginning, as they were read: the files belong to the attempt.
  const std::string& beginning() const { return beginning_; }
  static constexpr std::size_t kBeginning = 256;

  std::int64_t total_bytes() const { return total_; }
  std::int64_t head_bytes() const { return head_bytes_; }
  std::int64_t tail_bytes() const { return tail_bytes_; }

 private:
  Output() = default;
  std::string ring_in_order() const;

  int directory_ = -1;  // borrowed
  FileOwner owner_;
  os::Fd head_;
  std::size_t half_ = 0;
  std::string beginning_;
  std::string ring_;      // the last half_ bytes beyond the head
  std::size_t next_ = 0;  // where the ring goes on once it is full
  std::int64_t total_ = 0;
  std::int64_t head_bytes_ = 0;
  std::int64_t tail_bytes_ = 0;
};

}  // namespace sandbox::jail
