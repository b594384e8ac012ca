#include "sandbox/os/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "sandbox/os/ids.h"

namespace os {
namespace {

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

Result<Directory> open_directory(Fd fd) {
  DIR* stream = ::fdopendir(fd.get());
  if (stream == nullptr) return fail_errno("open directory stream");
  fd.release();
  return Directory(stream, ::closedir);
}

bool is_dots(std::string_view name) { return name == "." || name == ".."; }

// A directory that its owner made unreadable is still ours to clear, also without root.
bool unlock_directory(int parent, const std::string& name) {
  return errno == EACCES && ::fchmodat(parent, name.c_str(), 0700, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<Fd> open_subdirectory(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int raw = ::openat(parent, name.c_str(), kFlags);
  if (raw < 0 && unlock_directory(parent, name)) raw = ::openat(parent, name.c_str(), kFlags);
  if (raw < 0) return fail_errno("open directory " + name);
  return Fd(raw);
}

// Unlinks what it can in `directory`; names of sub-directories that are not empty are returned.
Result<std::vector<std::string>> unlink_entries(int directory) {
  Directory stream = TRY(open_directory(TRY(open_subdirectory(directory, "."))));
  std::vector<std::string> below;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (is_dots(entry->d_name)) continue;
    if (::unlinkat(directory, entry->d_name, 0) == 0) continue;
    if (errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) return fail_errno("remove file");
    if (::unlinkat(directory, entry->d_name, AT_REMOVEDIR) == 0) continue;
    if (errno != ENOTEMPTY && errno != EEXIST) return fail_errno("remove directory");
    below.emplace_back(entry->d_name);
  }
  return below;
}

// Hostile trees are deep: a deep directory is first moved up to `top`, so no path grows.
Result<void> remove_contents(int top) {
  std::vector<std::string> pending = TRY(unlink_entries(top));
  std::uint64_t moved = 0;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    const Fd directory = TRY(open_subdirectory(top, name));
    // Readable, it may still refuse that its entries are removed.
    ::fchmod(directory.get(), 0700);
    for (const std::string& below : TRY(unlink_entries(directory.get()))) {
      std::string fresh = ".remove-" + std::to_string(moved++);
      const auto move = [&] {
        return ::renameat(directory.get(), below.c_str(), top, fresh.c_str()) == 0;
      };
      if (!move() && !(unlock_directory(directory.get(), below) && move()))
        return fail_errno("move directory for removal");
      pending.push_back(std::move(fresh));
    }
    if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) return fail_errno("remove " + name);
  }
  return {};
}

Result<void> replace_file(int directory, const std::string& name, std::string_view bytes,
                          mode_t mode) {
  const std::string aside = "." + name + ".tmp-" + random_hex(8);
  Fd file(::openat(directory, aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   mode));
  if (!file.is_open()) return fail_errno("create " + aside);
  Result<void> written = write_all(file.get(), bytes);
  if (written && ::fchmod(file.get(), mode) != 0) written = fail_errno("set mode of " + aside);
  if (written && ::fsync(file.get()) != 0) written = fail_errno("fsync " + aside);
  if (written && ::renameat(directory, aside.c_str(), directory, name.c_str()) != 0)
    written = fail_errno("rename to " + name);
  if (!written) {
    ::unlinkat(directory, aside.c_str(), 0);
    return written;
  }
  if (::fsync(directory) != 0) return fail_errno("fsync directory of " + name);
  return {};
}

std::pair<std::string, std::string> split_path(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const Fd file = TRY(open_file(path, O_RDONLY));
  return TRY_CONTEXT(read_all(file.get(), limit), "read " + path);
}

Result<std::string> read_file_at(int directory, const std::string& path, std::size_t limit) {
  const Fd file = TRY(open_beneath(directory, path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("stat " + path);
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid, path + " is not a regular file");
  return TRY_CONTEXT(read_all(file.get(), limit), "read " + path);
}

Result<void> write_file_durably(const std::string& path, std::string_view bytes, mode_t mode) {
  const auto [parent, name] = split_path(path);
  const Fd directory = TRY(open_file(parent, O_RDONLY | O_DIRECTORY));
  TRY_CONTEXT(replace_file(directory.get(), name, bytes, mode), "write " + path);
  return {};
}

Result<void> write_file_durably_at(int directory, const std::string& name, std::string_view bytes,
                                   mode_t mode) {
  check(name.find('/') == std::string::npos, "write_file_durably_at takes a plain name");
  return replace_file(directory, name, bytes, mode);
}

Result<void> make_directories(const std::string& path, mode_t mode) {
  for (std::size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string prefix = path.substr(0, at);
    if (::mkdir(prefix.c_str(), mode) != 0 && errno != EEXIST)
      return fail_errno("make directory " + prefix);
  }
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail_errno("stat " + path);
  if (!S_ISDIR(info.st_mode)) return fail(Code::conflict, path + " is not a directory");
  return {};
}

Result<std::vector<std::string>> list_directory(const std::string& path, std::size_t limit) {
  const Directory stream = TRY(open_directory(TRY(open_file(path, O_RDONLY | O_DIRECTORY))));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (is_dots(entry->d_name)) continue;
    if (names.size() == limit) return fail(Code::exhausted, "too many entries in " + path);
    names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

Result<void> remove_tree_at(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return fail_errno("remove " + name);
  const Result<Fd> top = open_subdirectory(directory, name);
  if (!top) return top.error().sys_errno == ENOENT ? Result<void>() : fail_errno("open " + name);
  ::fchmod(top->get(), 0700);
  TRY(remove_contents(top->get()));
  if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    return fail_errno("remove " + name);
  return {};
}

Result<void> remove_tree(const std::string& path) {
  const auto [parent, name] = split_path(path);
  const Result<Fd> directory = open_file(parent, O_RDONLY | O_DIRECTORY);
  if (!directory && directory.error().code == Code::not_found) return {};
  if (!directory) return std::unexpected(directory.error());
  return remove_tree_at(directory->get(), name);
}

Result<TempDir> TempDir::create(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/" +
                     std::string(prefix) + "-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno("make temporary directory " + path);
  return TempDir(std::move(path));
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

TempDir::~TempDir() {
  // What cannot be removed stays behind: a destructor has nobody to tell.
  if (!path_.empty()) static_cast<void>(remove_tree(path_).has_value());
}

std::string TempDir::operator/(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

}  // namespace os
