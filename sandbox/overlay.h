// Overlay: the mounts that a sandbox is made of, as plain calls on paths and descriptors.
// All of them act in the mount namespace of the calling process, which needs CAP_SYS_ADMIN there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"
#include "sandbox/os/units.h"

namespace sandbox {

// What a mount allows. Every mount of a sandbox is nosuid.
struct MountFlags {
  bool read_only = false;
  bool no_exec = false;
  bool devices = false;  // device nodes work (only /dev)
};

// A sized memory file system. Its pages are charged to the memory group of who writes them.
struct Tmpfs {
  os::Bytes size;           // rounded up to pages by the kernel
  std::int64_t inodes = 0;  // files, directories and links
  std::uint32_t uid = 0;    // host ids of its root directory
  std::uint32_t gid = 0;
  unsigned mode = 0755;
  MountFlags flags = {};
};
os::Result<void> mount_tmpfs(const std::string& target, const Tmpfs& options);
// The same as a detached mount (fsmount(2)).
os::Result<os::Fd> make_tmpfs(const Tmpfs& options);

// The layers of one overlay; paths of at most some 40 characters each, without ':' and ','.
struct OverlayLayers {
  std::vector<std::string> lower;  // topmost first, at least one
  std::string upper;               // writable; `upper` and `work` lie in one file system
  std::string work;
};
// nosuid, nodev; xino (one st_dev for all files), redirect_dir (a lower directory can be renamed).
// The caller sees to it that no other overlay with the same upper is mounted: the kernel does not
// refuse a second one (Documentation/filesystems/overlayfs.rst).
os::Result<void> mount_overlay(const std::string& target, const OverlayLayers& layers);

// A detached copy of the mount at `path` below `directory` (open_tree(2)); `path` empty: the
// descriptor itself. With `recursive` what is mounted below comes along.
enum class Below : std::uint8_t { leave, include };
os::Result<os::Fd> clone_mount(int directory, const std::string& path, Below below = Below::leave);

// Sets flags (and, with `user_namespace` >= 0, the id map) of a detached mount (mount_setattr(2)).
// Where the file system allows no id map: invalid.
os::Result<void> restrict_mount(int mount, MountFlags flags, int user_namespace = -1,
                                Below below = Below::leave);

// Attaches a detached mount at an existing path: a directory at a directory, a file at a file.
os::Result<void> attach_mount(int mount, const std::string& target);

// umount2(2) with MNT_DETACH; nothing mounted there is an error.
os::Result<void> detach_mount(const std::string& target);

}  // namespace sandbox
