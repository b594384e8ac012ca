#include "tasks/evidence_store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "sandbox/os/files.h"

namespace tasks {

os::Result<EvidenceStore> EvidenceStore::open(int attempt_directory) {
  if (::mkdirat(attempt_directory, "evidence", 0750) != 0 && errno != EEXIST)
    return os::fail_errno("make evidence directory");
  os::Fd blobs = TRY(os::open_beneath(attempt_directory, "evidence", O_RDONLY | O_DIRECTORY));
  return EvidenceStore(attempt_directory, std::move(blobs));
}

os::Result<std::string> EvidenceStore::put(std::string_view bytes) {
  std::string name = os::sha256(bytes).hex();
  if (::faccessat(blobs_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return name;
  TRY(os::write_file_durably_at(blobs_.get(), name, bytes));
  return name;
}

os::Result<std::string> EvidenceStore::put_file(const std::string& path, std::size_t limit) {
  return put(TRY(os::read_file_at(attempt_directory_, path, limit)));
}

os::Result<std::string> EvidenceStore::get(std::string_view sha256, std::size_t limit) const {
  std::string bytes = TRY(os::read_file_at(blobs_.get(), std::string(sha256), limit));
  if (os::sha256(bytes).hex() != sha256)
    return os::fail(os::Code::corrupt, "evidence " + std::string(sha256) + " has other bytes");
  return bytes;
}

}  // namespace tasks
