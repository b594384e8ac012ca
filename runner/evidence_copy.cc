#include "runner/evidence_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <set>

#include "runner/limits.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

constexpr std::size_t kPieceSize = 256U << 10U;
// Names of unfinished copies; no digest looks like it.
constexpr std::string_view kUnfinished = "tmp.";

bool is_digest(std::string_view name) { return os::Sha256::parse(name).has_value(); }

os::Result<void> sync(int fd, std::string_view what) {
  if (::fdatasync(fd) != 0) return os::fail_errno("sync " + std::string(what));
  return {};
}

// Nobody may drop what was just kept again before the one who keeps it could note that he does.
constexpr std::int64_t kYoungSeconds = 3600;

bool is_young(int directory, const std::string& name) {
  struct stat info{};
  return ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         info.st_mtim.tv_sec + kYoungSeconds > std::time(nullptr);
}

// A copy under a name of its own, not yet flushed.
struct Copy {
  os::Fd file;
  std::string name;
  std::int64_t bytes = 0;
};

os::Result<Copy> begin_copy(int shelf) {
  Copy copy;
  copy.name = std::string(kUnfinished) + os::random_hex(8);
  copy.file = TRY(os::open_beneath(shelf, copy.name, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return copy;
}

os::Result<void> abandon(int shelf, const Copy& copy, os::Error error) {
  ::unlinkat(shelf, copy.name.c_str(), 0);
  return std::unexpected(std::move(error));
}

// Copies and hashes; what was copied is what was hashed, whatever happens to the source meanwhile.
os::Result<void> copy_checked(int source, Copy& copy, std::string_view sha256, std::int64_t limit) {
  os::Sha256Stream digest;
  std::string piece(kPieceSize, '\0');
  while (true) {
    const ssize_t count = ::read(source, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::fail_errno("read evidence");
    if (count == 0) break;
    copy.bytes += count;
    if (copy.bytes > limit) return os::fail(os::Code::exhausted, "too much evidence");
    const std::string_view part(piece.data(), static_cast<std::size_t>(count));
    digest.update(part);
    TRY(os::write_all(copy.file.get(), part));
  }
  if (digest.finish().hex() != sha256)
    return os::fail(os::Code::corrupt, "evidence " + std::string(sha256) + " has another digest");
  return {};
}

}  // namespace

os::Result<EvidenceFolder> EvidenceFolder::open(const std::string& path) {
  TRY(os::make_directories(path, 0700));
  os::Fd directory = TRY(os::open_file(path, O_RDONLY | O_DIRECTORY));
  for (const std::string& shelf : TRY(os::list_directory(path))) {
    os::Result<std::vector<std::string>> names = os::list_directory(path + "/" + shelf);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (name.starts_with(kUnfinished)) ::unlink((path + "/" + shelf + "/" + name).c_str());
    }
  }
  return EvidenceFolder(path, std::move(directory));
}

os::Result<os::Fd> EvidenceFolder::shelf(std::string_view sha256, bool make) const {
  if (!is_digest(sha256)) return os::fail(os::Code::invalid, "no digest: evidence");
  const std::string name(sha256.substr(0, 2));
  if (make && ::mkdirat(directory_.get(), name.c_str(), 0700) == 0)
    TRY(sync(directory_.get(), path_));
  return os::open_beneath(directory_.get(), name, O_RDONLY | O_DIRECTORY);
}

os::Result<std::string> EvidenceFolder::put(std::string_view bytes) {
  std::string sha256 = os::sha256(bytes).hex();
  if (is_kept(sha256)) return sha256;
  const os::Fd directory = TRY(shelf(sha256, true));
  TRY(os::write_file_durably_at(directory.get(), sha256, bytes, 0600));
  return sha256;
}

os::Result<std::string> EvidenceFolder::get(std::string_view sha256, std::size_t limit) const {
  const os::Fd directory = TRY(shelf(sha256, false));
  std::string bytes = TRY(os::read_file_at(directory.get(), std::string(sha256), limit));
  if (os::sha256(bytes).hex() != sha256)
    return os::fail(os::Code::corrupt, "evidence " + std::string(sha256) + " has another digest");
  return bytes;
}

os::Result<EvidenceFolder::Part> EvidenceFolder::get_part(std::string_view sha256,
                                                          std::int64_t offset,
                                                          std::size_t limit) const {
  const os::Fd directory = TRY(shelf(sha256, false));
  const os::Fd file =
      TRY(os::open_beneath(directory.get(), std::string(sha256), O_RDONLY | O_NOFOLLOW));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return os::fail_errno("stat evidence");
  Part part;
  part.size = info.st_size;
  if (offset < 0 || offset >= part.size) return part;
  part.bytes.resize(std::min(limit, static_cast<std::size_t>(part.size - offset)));
  const ssize_t count = ::pread(file.get(), part.bytes.data(), part.bytes.size(), offset);
  if (count < 0) return os::fail_errno("read evidence");
  part.bytes.resize(static_cast<std::size_t>(count));
  return part;
}

bool EvidenceFolder::has(std::string_view sha256) const {
  const os::Result<os::Fd> directory = shelf(sha256, false);
  return directory && ::faccessat(directory->get(), std::string(sha256).c_str(), R_OK, 0) == 0;
}

bool EvidenceFolder::is_kept(std::string_view sha256) const {
  const os::Result<os::Fd> directory = shelf(sha256, false);
  return directory && ::utimensat(directory->get(), std::string(sha256).c_str(), nullptr, 0) == 0;
}

os::Result<void> EvidenceFolder::remove(std::string_view sha256) {
  const os::Result<os::Fd> directory = shelf(sha256, false);
  if (!directory || is_young(directory->get(), std::string(sha256))) return {};
  if (::unlinkat(directory->get(), std::string(sha256).c_str(), 0) != 0 && errno != ENOENT)
    return os::fail_errno("remove evidence");
  return {};
}

os::Result<std::vector<std::string>> EvidenceFolder::take(int attempt_directory) {
  const os::Result<os::Fd> source =
      os::open_beneath(attempt_directory, "evidence", O_RDONLY | O_DIRECTORY);
  if (!source && source.error().code == os::Code::not_found) return std::vector<std::string>{};
  if (!source) return std::unexpected(source.error());
  std::vector<std::string> names =
      TRY(os::list_directory("/proc/self/fd/" + std::to_string(source->get()), kMaxBlobs));
  std::erase_if(names, [](const std::string& name) { return !is_digest(name); });
  std::int64_t left = kMaxBytes;
  std::set<std::string> changed;
  for (const std::string& name : names) {
    if (is_kept(name)) continue;
    const os::Fd file = TRY(os::open_beneath(source->get(), name, O_RDONLY | O_NONBLOCK));
    struct stat info{};
    if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
      return os::fail(os::Code::corrupt, "evidence " + name + " is no plain file");
    const os::Fd directory = TRY(shelf(name, true));
    Copy copy = TRY(begin_copy(directory.get()));
    os::Result<void> copied = copy_checked(file.get(), copy, name, left);
    if (copied) copied = sync(copy.file.get(), name);
    if (!copied) return std::unexpected(abandon(directory.get(), copy, copied.error()).error());
    if (::renameat(directory.get(), copy.name.c_str(), directory.get(), name.c_str()) != 0)
      return os::fail_errno("keep evidence " + name);
    left -= copy.bytes;
    changed.insert(name.substr(0, 2));
  }
  for (const std::string& name : changed) {
    const os::Fd directory = TRY(os::open_beneath(directory_.get(), name, O_RDONLY | O_DIRECTORY));
    if (::fsync(directory.get()) != 0) return os::fail_errno("sync evidence/" + name);
  }
  return names;
}

os::Result<void> load_reports(const EvidenceFolder& folder, tasks::Evidence& evidence) {
  for (tasks::RunRecord& run : evidence.runs) {
    for (tasks::ReportRecord& report : run.reports) {
      if (report.parsed_sha256.empty()) continue;
      report.parsed = TRY_CONTEXT(
          tasks::report_from_json(TRY(folder.get(report.parsed_sha256, kReportJsonLimit))),
          "report " + report.path + " of run " + run.id);
    }
  }
  return {};
}

std::vector<std::string> blobs_of(const tasks::Evidence& evidence) {
  std::set<std::string> blobs;
  for (const tasks::RunRecord& run : evidence.runs) {
    blobs.insert(run.log.head_sha256);
    blobs.insert(run.log.tail_sha256);
    for (const tasks::ReportRecord& report : run.reports) {
      blobs.insert(report.raw_sha256);
      blobs.insert(report.parsed_sha256);
    }
    for (const tasks::OutputRecord& output : run.outputs) blobs.insert(output.sha256);
  }
  blobs.erase("");
  return {blobs.begin(), blobs.end()};
}

}  // namespace runner
