#include "sandbox/jail/views.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/jail/copy.h"
#include "sandbox/jail/stage.h"
#include "sandbox/overlay.h"

namespace sandbox::jail {

os::Result<View> Views::show(int source, Domain domain) {
  struct stat info{};
  if (::fstat(source, &info) != 0) return os::fail_errno("stat");
  if (!S_ISDIR(info.st_mode) && !S_ISREG(info.st_mode))
    return os::fail(os::Code::invalid, "neither a file nor a directory");
  const bool is_directory = S_ISDIR(info.st_mode);
  const int space = TRY(spaces_.workspace(domain, info.st_uid, info.st_gid));
  os::Fd mount = TRY(clone_mount(source, ""));
  const os::Result<void> mapped = restrict_mount(mount.get(), {.read_only = true}, space);
  if (mapped) return View{std::move(mount), is_directory, false};
  if (mapped.error().code != os::Code::invalid) return std::unexpected(mapped.error());
  return copy(source, domain, is_directory);
}

os::Result<View> Views::copy(int source, Domain domain, bool is_directory) {
  const std::string place = fmt::format("/m/copy-{}", copies_++);
  const std::uint32_t user = spaces_.outside(domain, kInnerUid);
  TRY(make_mount_point("", place, true));
  TRY(mount_tmpfs(place, {.size = memory_, .inodes = 2'000'000, .uid = user, .gid = user}));
  const CopyRules rules{.kind = CopyKind::view,
                        .uid = user,
                        .gid = user,
                        .bytes = memory_,
                        .files = 2'000'000,
                        .depth = 256};
  // The descriptor may be O_PATH; /proc shows what it is a descriptor of.
  const os::Fd readable = TRY(os::open_file(fmt::format("/proc/self/fd/{}", source), O_RDONLY));
  const os::Fd directory = TRY(os::open_file(place, O_RDONLY | O_DIRECTORY));
  if (is_directory)
    TRY(copy_directory(readable.get(), directory.get(), "view", rules));
  else
    TRY(copy_file(readable.get(), directory.get(), "view", rules));
  os::Fd mount = TRY(clone_mount(AT_FDCWD, place + "/view"));
  TRY(restrict_mount(mount.get(), {.read_only = true}));
  TRY(detach_mount(place));
  return View{std::move(mount), is_directory, true};
}

}  // namespace sandbox::jail
