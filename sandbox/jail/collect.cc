#include "sandbox/jail/collect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/ablation.h"
#include "sandbox/jail/copy.h"
#include "sandbox/os/files.h"

namespace sandbox::jail {
namespace {

// Why a copy was refused, in words for whoever reads the evidence.
std::string why(const os::Error& error) {
  switch (error.sys_errno) {
    case ENOENT:
    case ENOTDIR:
      return "missing";
    case ELOOP:
      return "a symbolic link, or beneath one";
    case EXDEV:
      return "outside of the workspace";
    case ENXIO:
      return "not a regular file";
    default:
      return error.message;
  }
}

// Links are not followed, neither at the end nor on the way.
os::Result<os::Fd> open_wanted(int source, const std::string& path, int flags) {
  if (!is_left_out(Layer::collect_beneath))
    return os::open_beneath(source, path, flags | O_NOFOLLOW);
  os::Fd opened(::openat(source, path.c_str(), flags | O_CLOEXEC));
  if (!opened.is_open()) return os::fail_errno("open");
  return opened;
}

os::Result<CopyCounts> copy_wanted(const Collect& wanted, int source, int collected,
                                   FileOwner owner) {
  const os::Fd opened = TRY(open_wanted(source, wanted.path, O_RDONLY | O_NONBLOCK));
  struct stat info{};
  if (::fstat(opened.get(), &info) != 0) return os::fail_errno("stat");
  const CopyRules rules{.kind = CopyKind::evidence,
                        .uid = owner.uid,
                        .gid = owner.gid,
                        .bytes = wanted.limit,
                        .files = wanted.files,
                        .depth = 64};
  if (wanted.is_directory && !S_ISDIR(info.st_mode))
    return os::fail(os::Code::invalid, "not a directory");
  if (!wanted.is_directory && !S_ISREG(info.st_mode))
    return os::fail(os::Code::invalid, "not a regular file");
  if (wanted.is_directory) return copy_directory(opened.get(), collected, wanted.name, rules);
  return copy_file(opened.get(), collected, wanted.name, rules);
}

}  // namespace

os::Result<std::vector<Collected>> collect(const std::vector<Collect>& wanted,
                                           const CollectSources& sources, int run_directory,
                                           const std::string& run_path, FileOwner owner) {
  std::vector<Collected> results;
  if (wanted.empty()) return results;
  const os::Fd directory = TRY(create_owned_directory(run_directory, "collected", owner));
  for (const Collect& one : wanted) {
    Collected result;
    result.name = one.name;
    const int source = one.from_out ? sources.out : sources.workspace;
    const os::Result<CopyCounts> copied = source < 0
                                              ? os::fail(os::Code::not_found, "missing")
                                              : copy_wanted(one, source, directory.get(), owner);
    if (copied) {
      result.path = run_path + "/collected/" + one.name;
      result.files = copied->files;
      result.bytes = copied->bytes;
    } else {
      result.error = why(copied.error());
      TRY(os::remove_tree_at(directory.get(), one.name));
    }
    results.push_back(std::move(result));
  }
  return results;
}

os::Result<void> clear_paths(int workspace, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::size_t slash = path.find_last_of('/');
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    const os::Result<os::Fd> directory = open_wanted(workspace, parent, O_RDONLY | O_DIRECTORY);
    // Nothing there, or something that will not be collected either.
    if (!directory) continue;
    TRY_CONTEXT(os::remove_tree_at(directory->get(), name), "clear " + path);
  }
  return {};
}

}  // namespace sandbox::jail
