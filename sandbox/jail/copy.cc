#include "sandbox/jail/copy.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace sandbox::jail {
namespace {

// 2000-01-01 00:00 UTC.
constexpr timespec kTreeTime{946'684'800, 0};

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// One copy under way: the rules, what was used of them, hard links seen.
class Copier {
 public:
  explicit Copier(const CopyRules& rules) : rules_(rules) {}

  os::Result<void> file(int source, const struct stat& info, int directory,
                        const std::string& name);
  os::Result<void> directory(int source, int parent, const std::string& name, int depth);
  const CopyCounts& counts() const { return counts_; }

 private:
  os::Result<void> entry(int source, int target, const std::string& name, int depth);
  os::Result<void> open_entry(int source, int target, const std::string& name,
                              const struct stat& before, int depth);
  os::Result<void> link(int source, int target, const std::string& name, const struct stat& info);
  os::Result<void> whiteout(int target, const std::string& name);
  os::Result<bool> hard_link(const struct stat& info, int target, const std::string& name);
  os::Result<void> content(int source, int target);
  os::Result<void> attributes(int source, int target);
  os::Result<void> finish(int target, const struct stat& info);
  os::Result<void> set_times(int directory, const char* name, const struct stat& info);
  os::Result<void> count_entry();
  // A view stands in for what it copies, which may be a layer.
  bool keeps_layers() const {
    return rules_.kind == CopyKind::layer || rules_.kind == CopyKind::view;
  }

  const CopyRules& rules_;
  CopyCounts counts_;
  std::int64_t entries_ = 0;
  std::map<ino_t, os::Fd> linked_;
};

bool is_whiteout(const struct stat& info) {
  return S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(0, 0);
}

os::Result<Directory> open_stream(int directory) {
  os::Fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return os::fail_errno("open directory");
  DIR* stream = ::fdopendir(fd.get());
  if (stream == nullptr) return os::fail_errno("read directory");
  fd.release();
  return Directory(stream, &::closedir);
}

os::Result<void> Copier::count_entry() {
  if (++entries_ > rules_.files)
    return os::fail(os::Code::exhausted, fmt::format("more than {} files", rules_.files));
  return {};
}

os::Result<void> Copier::content(int source, int target) {
  std::vector<char> buffer(128U << 10U);
  while (true) {
    const ssize_t got = ::read(source, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os::fail_errno("read");
    if (got == 0) return {};
    counts_.bytes += got;
    if (static_cast<std::uint64_t>(counts_.bytes) > rules_.bytes.count)
      return os::fail(os::Code::exhausted, fmt::format("more than {} bytes", rules_.bytes.count));
    TRY(os::write_all(target, {buffer.data(), static_cast<std::size_t>(got)}));
  }
}

os::Result<void> Copier::set_times(int directory, const char* name, const struct stat& info) {
  if (rules_.kind == CopyKind::evidence) return {};
  std::array<timespec, 2> times{info.st_atim, info.st_mtim};
  if (rules_.kind == CopyKind::tree) times = {kTreeTime, kTreeTime};
  if (::utimensat(directory, name, times.data(), AT_SYMLINK_NOFOLLOW) != 0)
    return os::fail_errno("set times");
  return {};
}

os::Result<void> Copier::finish(int target, const struct stat& info) {
  mode_t mode = info.st_mode & 0777U;
  if (rules_.kind == CopyKind::evidence || rules_.kind == CopyKind::tree)
    mode = S_ISDIR(info.st_mode) || (info.st_mode & 0111U) != 0 ? 0755 : 0644;
  if (::fchown(target, rules_.uid, rules_.gid) != 0) return os::fail_errno("set owner");
  if (::fchmod(target, mode) != 0) return os::fail_errno("set mode");
  if (rules_.kind == CopyKind::evidence) return {};
  std::array<timespec, 2> times{info.st_atim, info.st_mtim};
  if (rules_.kind == CopyKind::tree) times = {kTreeTime, kTreeTime};
  if (::futimens(target, times.data()) != 0) return os::fail_errno("set times");
  return {};
}

// True: it was a further name of a file already copied.
os::Result<bool> Copier::hard_link(const struct stat& info, int target, const std::string& name) {
  if (!keeps_layers() || info.st_nlink < 2) return false;
  const auto known = linked_.find(info.st_ino);
  if (known == linked_.end()) return false;
  if (::linkat(known->second.get(), "", target, name.c_str(), AT_EMPTY_PATH) != 0)
    return os::fail_errno("link " + name);
  return true;
}

os::Result<void> Copier::file(int source, const struct stat& info, int directory,
                              const std::string& name) {
  // A sparse file of exabytes is refused before its zeros are read.
  if (info.st_size < 0 ||
      static_cast<std::uint64_t>(info.st_size) + static_cast<std::uint64_t>(counts_.bytes) >
          rules_.bytes.count)
    return os::fail(os::Code::exhausted, fmt::format("more than {} bytes", rules_.bytes.count));
  ++counts_.files;
  if (TRY(hard_link(info, directory, name))) return {};
  os::Fd target(::openat(directory, name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.is_open()) return os::fail_errno("create " + name);
  TRY(content(source, target.get()));
  TRY(finish(target.get(), info));
  // Files with several names are rare and bounded by the descriptors of the jail: beyond 256 the
  // further names become copies.
  if (keeps_layers() && info.st_nlink > 1 && linked_.size() < 256)
    linked_.emplace(info.st_ino, std::move(target));
  return {};
}

os::Result<void> Copier::link(int source, int target, const std::string& name,
                              const struct stat& info) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlinkat(source, name.c_str(), text.data(), text.size() - 1);
  if (length < 0) return os::fail_errno("read link " + name);
  if (::symlinkat(text.data(), target, name.c_str()) != 0)
    return os::fail_errno("make link " + name);
  if (::fchownat(target, name.c_str(), rules_.uid, rules_.gid, AT_SYMLINK_NOFOLLOW) != 0)
    return os::fail_errno("set owner of " + name);
  ++counts_.files;
  return set_times(target, name.c_str(), info);
}

os::Result<void> Copier::whiteout(int target, const std::string& name) {
  if (::mknodat(target, name.c_str(), S_IFCHR, ::makedev(0, 0)) != 0)
    return os::fail_errno("make whiteout " + name);
  ++counts_.files;
  return {};
}

os::Result<void> Copier::attributes(int source, int target) {
  if (!keeps_layers()) return {};
  for (const char* name : {"trusted.overlay.opaque", "trusted.overlay.redirect"}) {
    std::array<char, 4096> value{};
    const ssize_t length = ::fgetxattr(source, name, value.data(), value.size());
    if (length < 0 && (errno == ENODATA || errno == ENOTSUP)) continue;
    if (length < 0) return os::fail_errno(std::string("read ") + name);
    if (::fsetxattr(target, name, value.data(), static_cast<std::size_t>(length), 0) != 0)
      return os::fail_errno(std::string("set ") + name);
  }
  return {};
}

os::Result<void> Copier::open_entry(int source, int target, const std::string& name,
                                    const struct stat& before, int depth) {
  const os::Fd opened = TRY(os::open_beneath(source, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info{};
  if (::fstat(opened.get(), &info) != 0) return os::fail_errno("stat " + name);
  if ((info.st_mode & S_IFMT) != (before.st_mode & S_IFMT))
    return os::fail(os::Code::conflict, name + " changed while it was copied");
  if (S_ISDIR(info.st_mode)) return directory(opened.get(), target, name, depth + 1);
  return file(opened.get(), info, target, name);
}

os::Result<void> Copier::entry(int source, int target, const std::string& name, int depth) {
  TRY(count_entry());
  struct stat info{};
  if (::fstatat(source, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
    return os::fail_errno("stat " + name);
  if (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))
    return open_entry(source, target, name, info, depth);
  if (S_ISLNK(info.st_mode) && rules_.kind != CopyKind::evidence)
    return link(source, target, name, info);
  if (is_whiteout(info) && keeps_layers()) return whiteout(target, name);
  // In a layer a socket or a FIFO is of no use to a later build.
  if (rules_.kind == CopyKind::layer && !S_ISCHR(info.st_mode)) return {};
  return os::fail(os::Code::invalid, name + " is not a regular file");
}

os::Result<void> Copier::directory(int source, int parent, const std::string& name, int depth) {
  if (depth > rules_.depth)
    return os::fail(os::Code::exhausted, fmt::format("deeper than {} levels", rules_.depth));
  struct stat info{};
  if (::fstat(source, &info) != 0) return os::fail_errno("stat " + name);
  if (::mkdirat(parent, name.c_str(), 0700) != 0) return os::fail_errno("make directory " + name);
  const os::Fd target(
      ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!target.is_open()) return os::fail_errno("open " + name);
  const Directory stream = TRY(open_stream(source));
  while (true) {
    errno = 0;
    const dirent* found = ::readdir(stream.get());
    if (found == nullptr && errno != 0) return os::fail_errno("read directory " + name);
    if (found == nullptr) break;
    const std::string below = found->d_name;
    if (below == "." || below == "..") continue;
    TRY(entry(source, target.get(), below, depth));
  }
  TRY(attributes(source, target.get()));
  return finish(target.get(), info);
}

}  // namespace

os::Result<CopyCounts> copy_file(int source, int directory, const std::string& name,
                                 const CopyRules& rules) {
  struct stat info{};
  if (::fstat(source, &info) != 0) return os::fail_errno("stat " + name);
  if (!S_ISREG(info.st_mode)) return os::fail(os::Code::invalid, "not a regular file");
  Copier copier(rules);
  TRY(copier.file(source, info, directory, name));
  return copier.counts();
}

os::Result<CopyCounts> copy_directory(int source, int directory, const std::string& name,
                                      const CopyRules& rules) {
  struct stat info{};
  if (::fstat(source, &info) != 0) return os::fail_errno("stat " + name);
  if (!S_ISDIR(info.st_mode)) return os::fail(os::Code::invalid, "not a directory");
  Copier copier(rules);
  TRY(copier.directory(source, directory, name, 0));
  return copier.counts();
}

}  // namespace sandbox::jail
