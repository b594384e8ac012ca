// Evidence of ended attempts, as serve keeps it: evidence/<aa>/<sha256>. Bytes only: nothing here
// looks into what a change or a sandbox wrote.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"
#include "tasks/evidence.h"

namespace runner {

// The blobs below one directory, named by their SHA-256; `aa` are the first two digits. A blob is
// there whole or not at all. Safe to use from several threads.
class EvidenceFolder {
 public:
  // Makes the directory, and removes what an interrupted copy left.
  static os::Result<EvidenceFolder> open(const std::string& path);

  // Keeps bytes durably; the same bytes again are no error. The digest in hex.
  os::Result<std::string> put(std::string_view bytes);
  // The blob. not_found; corrupt: its bytes have another digest; exhausted: more than `limit`.
  os::Result<std::string> get(std::string_view sha256, std::size_t limit) const;
  // At most `limit` bytes from `offset` on, and the blob's size; the digest is not checked.
  struct Part {
    std::string bytes;
    std::int64_t size = 0;
  };
  os::Result<Part> get_part(std::string_view sha256, std::int64_t offset, std::size_t limit) const;
  bool has(std::string_view sha256) const;
  // A missing blob is no error. One that was kept (again) within the last hour stays: who keeps it
  // may not have noted so yet.
  os::Result<void> remove(std::string_view sha256);

  // Takes all blobs of evidence/ beneath an attempt's directory over: hashed while they are copied,
  // durable when this returns. corrupt: one is not what its name says. exhausted: more than
  // kMaxBlobs or kMaxBytes. A missing evidence/ is empty. The digests.
  os::Result<std::vector<std::string>> take(int attempt_directory);

  static constexpr std::size_t kMaxBlobs = 50'000;
  static constexpr std::int64_t kMaxBytes = 8LL << 30U;

 private:
  explicit EvidenceFolder(std::string path, os::Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  // has(), and makes the blob young again.
  bool is_kept(std::string_view sha256) const;
  os::Result<os::Fd> shelf(std::string_view sha256, bool make) const;

  std::string path_;
  os::Fd directory_;
};

// Fills ReportRecord::parsed of all runs from the kept blobs. not_found: one is missing.
os::Result<void> load_reports(const EvidenceFolder& folder, tasks::Evidence& evidence);

// Digests that the evidence names: logs, reports, outputs.
std::vector<std::string> blobs_of(const tasks::Evidence& evidence);

}  // namespace runner
