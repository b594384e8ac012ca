#include "sandbox/jail/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace sandbox::jail {

os::Result<os::Fd> create_owned_file(int directory, const std::string& name, FileOwner owner) {
  os::Fd file(::openat(directory, name.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) return os::fail_errno("create " + name);
  if (::fchown(file.get(), owner.uid, owner.gid) != 0)
    return os::fail_errno("set owner of " + name);
  if (::fchmod(file.get(), 0640) != 0) return os::fail_errno("set mode of " + name);
  return file;
}

os::Result<os::Fd> create_owned_directory(int directory, const std::string& name, FileOwner owner) {
  if (::mkdirat(directory, name.c_str(), 0700) != 0)
    return os::fail_errno("make directory " + name);
  os::Fd made(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.is_open()) return os::fail_errno("open directory " + name);
  if (::fchown(made.get(), owner.uid, owner.gid) != 0)
    return os::fail_errno("set owner of " + name);
  if (::fchmod(made.get(), 02750) != 0) return os::fail_errno("set mode of " + name);
  return made;
}

os::Result<Output> Output::create(int directory, FileOwner owner, os::Bytes keep) {
  Output output;
  output.directory_ = directory;
  output.owner_ = owner;
  output.half_ = keep.count / 2;
  output.head_ = TRY(create_owned_file(directory, "head", owner));
  return output;
}

os::Result<void> Output::append(std::string_view bytes) {
  total_ += static_cast<std::int64_t>(bytes.size());
  beginning_ += bytes.substr(0, kBeginning - beginning_.size());
  const std::size_t room = half_ - static_cast<std::size_t>(head_bytes_);
  const std::string_view first = bytes.substr(0, room);
  TRY_CONTEXT(os::write_all(head_.get(), first), "head of the output");
  head_bytes_ += static_cast<std::int64_t>(first.size());
  bytes.remove_prefix(first.size());
  if (bytes.size() > half_) bytes.remove_prefix(bytes.size() - half_);
  const std::string_view fill = bytes.substr(0, half_ - ring_.size());
  ring_ += fill;
  bytes.remove_prefix(fill.size());
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, half_ - next_);
    std::ranges::copy(piece, ring_.begin() + static_cast<std::ptrdiff_t>(next_));
    next_ = (next_ + piece.size()) % half_;
    bytes.remove_prefix(piece.size());
  }
  return {};
}

std::string Output::ring_in_order() const { return ring_.substr(next_) + ring_.substr(0, next_); }

os::Result<void> Output::finish() {
  if (ring_.empty()) return {};
  const std::string rest = ring_in_order();
  if (head_bytes_ + static_cast<std::int64_t>(rest.size()) == total_) {
    TRY_CONTEXT(os::write_all(head_.get(), rest), "head of the output");
    head_bytes_ = total_;
    return {};
  }
  const os::Fd tail = TRY(create_owned_file(directory_, "tail", owner_));
  TRY_CONTEXT(os::write_all(tail.get(), rest), "tail of the output");
  tail_bytes_ = static_cast<std::int64_t>(rest.size());
  return {};
}

}  // namespace sandbox::jail
