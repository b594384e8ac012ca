#include "sandbox/overlay.h"

#include <fcntl.h>
#include <sys/mount.h>

#include <fmt/format.h>

#include "sandbox/ablation.h"

namespace sandbox {
namespace {

unsigned long classic_flags(MountFlags flags) {
  unsigned long bits = MS_NOSUID;
  if (!flags.devices) bits |= MS_NODEV;
  if (flags.no_exec) bits |= MS_NOEXEC;
  if (flags.read_only) bits |= MS_RDONLY;
  return bits;
}

std::uint64_t attribute_flags(MountFlags flags) {
  std::uint64_t bits = is_left_out(Layer::nosuid_views) ? 0 : MOUNT_ATTR_NOSUID;
  if (!flags.devices && !is_left_out(Layer::nodev_views)) bits |= MOUNT_ATTR_NODEV;
  if (flags.no_exec) bits |= MOUNT_ATTR_NOEXEC;
  if (flags.read_only && !is_left_out(Layer::read_only_views)) bits |= MOUNT_ATTR_RDONLY;
  return bits;
}

}  // namespace

os::Result<void> mount_tmpfs(const std::string& target, const Tmpfs& options) {
  const std::string data =
      fmt::format("size={},nr_inodes={},mode={:o},uid={},gid={}", options.size.count,
                  options.inodes, options.mode, options.uid, options.gid);
  if (::mount("tmpfs", target.c_str(), "tmpfs", classic_flags(options.flags), data.c_str()) != 0)
    return os::fail_errno("mount tmpfs at " + target);
  return {};
}

os::Result<os::Fd> make_tmpfs(const Tmpfs& options) {
  const os::Fd context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context.is_open()) return os::fail_errno("open a tmpfs");
  const auto set = [&context](const char* key, const std::string& value) {
    return ::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) == 0;
  };
  if (!set("size", std::to_string(options.size.count)) ||
      !set("nr_inodes", std::to_string(options.inodes)) ||
      !set("mode", fmt::format("{:o}", options.mode)) || !set("uid", std::to_string(options.uid)) ||
      !set("gid", std::to_string(options.gid)) ||
      ::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return os::fail_errno("set up a tmpfs");
  os::Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC,
                         static_cast<unsigned>(attribute_flags(options.flags))));
  if (!mount.is_open()) return os::fail_errno("mount a tmpfs");
  return mount;
}

os::Result<void> mount_overlay(const std::string& target, const OverlayLayers& layers) {
  const std::string data = fmt::format(
      "lowerdir={},upperdir={},workdir={},xino=on,redirect_dir=on,index=off,metacopy=off",
      fmt::join(layers.lower, ":"), layers.upper, layers.work);
  if (::mount("overlay", target.c_str(), "overlay", MS_NOSUID | MS_NODEV, data.c_str()) != 0)
    return os::fail_errno("mount overlay at " + target);
  return {};
}

os::Result<os::Fd> clone_mount(int directory, const std::string& path, Below below) {
  unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
  if (path.empty()) flags |= AT_EMPTY_PATH;
  if (below == Below::include) flags |= AT_RECURSIVE;
  os::Fd mount(::open_tree(directory, path.c_str(), flags));
  if (!mount.is_open()) return os::fail_errno("clone mount " + path);
  return mount;
}

os::Result<void> restrict_mount(int mount, MountFlags flags, int user_namespace, Below below) {
  mount_attr attributes{};
  attributes.attr_set = attribute_flags(flags);
  if (user_namespace >= 0) {
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<unsigned long long>(user_namespace);
  }
  unsigned how = AT_EMPTY_PATH;
  if (below == Below::include) how |= AT_RECURSIVE;
  if (::mount_setattr(mount, "", how, &attributes, sizeof(attributes)) != 0)
    return os::fail_errno(user_namespace >= 0 ? "set id map of mount" : "set flags of mount");
  return {};
}

os::Result<void> attach_mount(int mount, const std::string& target) {
  if (::move_mount(mount, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return os::fail_errno("attach mount at " + target);
  return {};
}

os::Result<void> detach_mount(const std::string& target) {
  if (::umount2(target.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0)
    return os::fail_errno("detach mount at " + target);
  return {};
}

}  // namespace sandbox
