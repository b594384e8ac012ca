#include "tasks/ingest/tree_id.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <vector>

#include "sandbox/os/digest.h"
#include "sandbox/os/fd.h"

namespace tasks::ingest {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kPiece = 64U << 10U;

struct CloseDirectory {
  void operator()(DIR* stream) const { ::closedir(stream); }
};

// An object's id: SHA-1 over "<type> <size>" NUL and its bytes.
os::Sha1Stream start_object(std::string_view type, std::uint64_t size) {
  os::Sha1Stream stream;
  std::string head(type);
  head += ' ' + std::to_string(size);
  head += '\0';
  stream.update(head);
  return stream;
}

struct Entry {
  std::string name;
  std::string mode;
  std::string id;  // 20 bytes
  // git sorts a directory as if its name ended with '/'
  std::string key() const { return mode == "40000" ? name + '/' : name; }
};

class DirectoryHasher {
 public:
  os::Result<std::string> directory(const os::Fd& fd, const std::string& path, int depth) {
    if (depth > kMaxDepth) return os::fail(os::Code::invalid, path + ": too deep");
    std::vector<Entry> entries;
    for (std::string& name : TRY(names(fd, path)))
      entries.push_back(TRY(entry(fd, std::move(name), path, depth)));
    std::ranges::sort(entries, {}, &Entry::key);
    std::string bytes;
    for (const Entry& each : entries) {
      bytes += each.mode + ' ' + each.name;
      bytes += '\0';
      bytes += each.id;
    }
    os::Sha1Stream stream = start_object("tree", bytes.size());
    stream.update(bytes);
    return stream.finish();
  }

 private:
  os::Result<std::vector<std::string>> names(const os::Fd& fd, const std::string& path) {
    // fdopendir takes its descriptor over.
    os::Fd copy = TRY(fd.duplicate());
    const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(copy.get()));
    if (!stream) return os::fail_errno("read " + path);
    copy.release();
    std::vector<std::string> found;
    for (errno = 0; const dirent* const each = ::readdir(stream.get()); errno = 0) {
      const std::string name = each->d_name;
      if (name == "." || name == "..") continue;
      if (++entries_ > kMaxEntries) return os::fail(os::Code::invalid, path + ": too many entries");
      found.push_back(name);
    }
    if (errno != 0) return os::fail_errno("read " + path);
    return found;
  }

  os::Result<Entry> entry(const os::Fd& parent, std::string name, const std::string& path,
                          int depth) {
    const std::string at = path + "/" + name;
    struct stat status{};
    if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return os::fail_errno(at);
    if (S_ISLNK(status.st_mode)) return Entry{name, "120000", TRY(link(parent, name, at))};
    if (S_ISDIR(status.st_mode)) {
      const os::Fd fd(
          ::openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!fd.is_open()) return os::fail_errno(at);
      return Entry{name, "40000", TRY(directory(fd, at, depth + 1))};
    }
    if (!S_ISREG(status.st_mode)) return os::fail(os::Code::invalid, at + ": a special file");
    return file(parent, std::move(name), at);
  }

  static os::Result<std::string> link(const os::Fd& parent, const std::string& name,
                                      const std::string& path) {
    std::string target(PATH_MAX, '\0');
    const ssize_t size = ::readlinkat(parent.get(), name.c_str(), target.data(), target.size());
    if (size < 0) return os::fail_errno(path);
    target.resize(static_cast<std::size_t>(size));
    os::Sha1Stream stream = start_object("blob", target.size());
    stream.update(target);
    return stream.finish();
  }

  static os::Result<Entry> file(const os::Fd& parent, std::string name, const std::string& path) {
    const os::Fd fd(
        ::openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status{};
    if (!fd.is_open() || ::fstat(fd.get(), &status) != 0) return os::fail_errno(path);
    const mode_t mode = status.st_mode & 07777U;
    if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
      return os::fail(os::Code::invalid, path + ": not a plain file with one name");
    if (mode != 0644 && mode != 0755)
      return os::fail(os::Code::invalid, path + ": its mode is neither 0644 nor 0755");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    os::Sha1Stream stream = start_object("blob", size);
    std::string piece(kPiece, '\0');
    std::uint64_t total = 0;
    while (true) {
      const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
      if (got < 0) return os::fail_errno(path);
      if (got == 0) break;
      stream.update({piece.data(), static_cast<std::size_t>(got)});
      total += static_cast<std::uint64_t>(got);
    }
    if (total != size) return os::fail(os::Code::conflict, path + ": changed while it was read");
    return Entry{std::move(name), mode == 0755 ? "100755" : "100644", stream.finish()};
  }

  std::size_t entries_ = 0;
};

}  // namespace

os::Result<TreeId> tree_id(const std::string& directory) {
  const os::Fd fd = TRY(os::open_file(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const std::string id = TRY(DirectoryHasher().directory(fd, directory, 1));
  return TreeId::parse(os::to_hex(id));
}

}  // namespace tasks::ingest
