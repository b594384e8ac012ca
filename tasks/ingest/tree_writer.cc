#include "tasks/ingest/tree_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "sandbox/os/fd.h"
#include "tasks/git_tree.h"

namespace tasks::ingest {
namespace {

constexpr std::array<timespec, 2> kTimes{timespec{kFileTime, 0}, timespec{kFileTime, 0}};

class TreeWriter {
 public:
  TreeWriter(const git::Repository& repository, git::Refuser& refuser)
      : repository_(repository), refuser_(refuser) {}

  // `parent` and `name` say where; `path` is its path in the tree, for messages.
  os::Result<void> write_directory(int parent, const std::string& name, const std::string& id,
                                   const std::string& path) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0) return failed(path);
    const os::Fd directory(
        ::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory.is_open()) return failed(path);
    const git::Object tree = TRY(repository_.read(id));
    for (const git::TreeEntry& entry : TRY(git::parse_tree(tree.bytes, path, refuser_))) {
      const std::string below = path.empty() ? entry.name : path + "/" + entry.name;
      TRY(write_entry(directory.get(), entry, below));
    }
    if (::futimens(directory.get(), kTimes.data()) != 0) return failed(path);
    return {};
  }

 private:
  os::Result<void> write_entry(int directory, const git::TreeEntry& entry,
                               const std::string& path) {
    switch (entry.mode) {
      case git::EntryMode::directory:
        return write_directory(directory, entry.name, entry.id, path);
      case git::EntryMode::symlink:
        return write_link(directory, entry, path);
      case git::EntryMode::file:
        return write_file(directory, entry, path, 0644);
      case git::EntryMode::executable:
        return write_file(directory, entry, path, 0755);
    }
    return os::fail(os::Code::internal, "unknown mode of " + path);
  }

  os::Result<void> write_file(int directory, const git::TreeEntry& entry, const std::string& path,
                              mode_t mode) {
    const git::Object blob = TRY(repository_.read(entry.id));
    const os::Fd file(::openat(directory, entry.name.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file.is_open()) return failed(path);
    if (const os::Result<void> written = os::write_all(file.get(), blob.bytes); !written)
      return failed(path, written.error().sys_errno);
    // The umask must not decide.
    if (::fchmod(file.get(), mode) != 0 || ::futimens(file.get(), kTimes.data()) != 0)
      return failed(path);
    return {};
  }

  os::Result<void> write_link(int directory, const git::TreeEntry& entry, const std::string& path) {
    const std::string target = TRY(repository_.read(entry.id)).bytes;
    if (target.empty() || target.size() >= PATH_MAX || target.contains('\0'))
      return refuser_.refuse(
          {"invalid_path", path, 0, "a symbolic link's target is empty, too long or has a NUL"});
    if (::symlinkat(target.c_str(), directory, entry.name.c_str()) != 0) return failed(path);
    if (::utimensat(directory, entry.name.c_str(), kTimes.data(), AT_SYMLINK_NOFOLLOW) != 0)
      return failed(path);
    return {};
  }

  std::unexpected<os::Error> failed(const std::string& path, int error_number = errno) {
    if (error_number == ENOSPC || error_number == EDQUOT)
      return refuser_.refuse({"too_large", path, 0, "there is no room for the tree's files"});
    return os::fail_errno(error_number, "write " + git::printable(path));
  }

  const git::Repository& repository_;
  git::Refuser& refuser_;
};

}  // namespace

os::Result<void> write_tree(const git::Repository& repository, const TreeId& tree,
                            const std::string& directory, git::Refuser& refuser) {
  return TreeWriter(repository, refuser).write_directory(AT_FDCWD, directory, tree.hex(), "");
}

}  // namespace tasks::ingest
