// Where an attempt keeps what it measured: blobs named by their SHA-256 below one directory.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/os/digest.h"
#include "sandbox/os/fd.h"

namespace tasks {

// Blobs at evidence/<sha256> beneath an attempt's directory. Not thread-safe.
class EvidenceStore {
 public:
  // Makes evidence/ beneath `attempt_directory` (borrowed; must outlive the store).
  static os::Result<EvidenceStore> open(int attempt_directory);

  // Keeps bytes; the same bytes again are no error. Returns their digest in hex.
  os::Result<std::string> put(std::string_view bytes);
  // Keeps a copy of a plain file beneath the attempt's directory, hashed while it is copied.
  // More than `limit` bytes: exhausted, links and special files: invalid.
  os::Result<std::string> put_file(const std::string& path, std::size_t limit);
  // The blob with that digest; corrupt if its bytes have another one.
  os::Result<std::string> get(std::string_view sha256, std::size_t limit) const;

 private:
  EvidenceStore(int attempt_directory, os::Fd blobs)
      : attempt_directory_(attempt_directory), blobs_(std::move(blobs)) {}
  int attempt_directory_;
  os::Fd blobs_;
};

}  // namespace tasks
