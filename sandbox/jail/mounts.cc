#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sandbox/ablation.h"
#include "sandbox/jail/stage.h"
#include "sandbox/jail/supervisor.h"
#include "sandbox/overlay.h"

namespace sandbox::jail {
namespace {

os::Result<void> bind(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0)
    return os::fail_errno("bind " + target);
  return {};
}

os::Result<void> make_read_only(const std::string& target, unsigned long flags) {
  if (::mount(nullptr, target.c_str(), nullptr,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | flags, nullptr) != 0)
    return os::fail_errno("make read-only " + target);
  return {};
}

// What hides a file has to be the null device itself (man 4 null): anything else there would be
// shown in every place that is to be empty.
os::Result<void> check_null_device(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return os::fail_errno("check " + path);
  if (!S_ISCHR(info.st_mode) || info.st_rdev != ::makedev(1, 3))
    return os::fail(os::Code::internal, path + " is not the null device");
  return {};
}

// The jail's own proc, with the flags of a fresh one.
os::Result<void> share_proc(const std::string& proc) {
  TRY(bind("/proc", proc));
  if (::mount(nullptr, proc.c_str(), nullptr,
              MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return os::fail_errno("set flags of /proc");
  return {};
}

os::Result<void> hide_proc_entries(const std::string& root) {
  if (is_left_out(Layer::hidden_proc)) return {};
  const std::string null_device = root + "/dev/null";
  TRY(check_null_device(null_device));
  for (const std::string& name : hidden_proc_entries()) {
    const std::string path = root + "/proc/" + name;
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) continue;
    TRY(bind(S_ISDIR(info.st_mode) ? root + "/var/empty" : null_device, path));
  }
  return {};
}

// A fresh proc of the new pid namespace; what is no business of a command is hidden or read-only.
os::Result<void> mount_proc(const std::string& root) {
  const std::string proc = root + "/proc";
  if (is_left_out(Layer::fresh_proc)) {
    TRY(share_proc(proc));
  } else if (::mount("proc", proc.c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) !=
             0) {
    return os::fail_errno("mount /proc");
  }
  TRY(hide_proc_entries(root));
  if (is_left_out(Layer::read_only_proc)) return {};
  for (const std::string& name : read_only_proc_entries()) {
    const std::string path = proc + "/" + name;
    if (::access(path.c_str(), F_OK) != 0) continue;
    TRY(bind(path, path));
    TRY(make_read_only(path, MS_NOEXEC));
  }
  return {};
}

// Of the sandbox's own ipc namespace; landlock knows a message queue by this place only.
os::Result<void> mount_queues(const std::string& target) {
  if (::mount("mqueue", target.c_str(), "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return os::fail_errno("mount " + target);
  return {};
}

// What a sandbox without memory file systems of its own would have: a directory of the root that
// the domain's commands share.
os::Result<void> share_memory(const std::string& target) {
  TRY(bind("/var/empty", target));
  if (::mount(nullptr, target.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV,
              nullptr) != 0 ||
      ::chmod(target.c_str(), 01777) != 0)
    return os::fail_errno("share " + target);
  return {};
}

os::Result<void> mount_private(const Place& place, const Order& order) {
  for (const PrivateMount& mount : private_mounts(*order.request)) {
    if (is_left_out(Layer::private_memory)) {
      TRY(share_memory(mount.target));
      continue;
    }
    const std::uint32_t owner = mount.mode == 01777 ? place.root_id : place.user_id;
    TRY(mount_tmpfs(mount.target, {.size = mount.size,
                                   .inodes = mount.inodes,
                                   .uid = owner,
                                   .gid = owner,
                                   .mode = mount.mode}));
  }
  if (order.workspace >= 0) TRY(attach_mount(order.workspace, "/workspace"));
  if (order.out >= 0) TRY(attach_mount(order.out, "/out"));
  return {};
}

// Mount points of what this command alone sees lie in small file systems of their own: the root
// below is shared with other commands of the domain.
os::Result<void> mount_extras(const Place& place, const std::vector<ExtraMount>& mounts) {
  for (const std::string top : {"/needs", "/in", "/driver"}) {
    bool is_used = false;
    for (const ExtraMount& mount : mounts) is_used = is_used || mount.target.starts_with(top + "/");
    if (!is_used) continue;
    TRY(mount_tmpfs(top, {.size = os::Bytes{64U << 10U},
                          .inodes = 1024,
                          .uid = place.root_id,
                          .gid = place.root_id}));
    for (const ExtraMount& mount : mounts) {
      if (!mount.target.starts_with(top + "/")) continue;
      TRY(make_mount_point("", mount.target, mount.is_directory));
      TRY(attach_mount(mount.mount, mount.target));
    }
    TRY(make_read_only(top, 0));
  }
  return {};
}

// /dev with the GPUs of the run in place of the one that all have; and whoever has a GPU sees what
// its driver says of itself, because libcuda reads that.
os::Result<void> mount_gpus(int devices) {
  TRY(attach_mount(devices, "/dev"));
  TRY(mount_queues(std::string(kMessageQueues)));
  const char* const driver = "/proc/driver";
  if (::access(driver, F_OK) != 0) return {};
  TRY(detach_mount(driver));
  TRY(bind(driver, driver));
  return make_read_only(driver, MS_NOEXEC);
}

// What was asked of the kernel is read back: a mount that came out weaker is an error.
os::Result<void> verify_mounts(const RunRequest& request) {
  if (is_left_out(Layer::verified_mounts)) return {};
  const os::Fd file = TRY(os::open_file("/proc/self/mountinfo", O_RDONLY));
  const std::string text = TRY_CONTEXT(os::read_all(file.get(), 1U << 20U), "verify mounts");
  const std::string wrong = check_mounts(text, writable_targets(request));
  if (!wrong.empty()) return os::fail(os::Code::internal, "verify mounts: " + wrong);
  return {};
}

}  // namespace

os::Result<void> enter_root(const Place& place) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return os::fail_errno("make mounts private");
  TRY(mount_proc(place.root));
  TRY(mount_queues(place.root + std::string(kMessageQueues)));
  if (::chdir(place.root.c_str()) != 0) return os::fail_errno("enter the root");
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return os::fail_errno("pivot_root");
  if (!is_left_out(Layer::detached_root)) TRY(detach_mount("."));
  if (::chdir("/") != 0) return os::fail_errno("enter the root");
  return {};
}

os::Result<void> furnish_root(const Place& place, const Order& order) {
  if (order.devices >= 0) TRY(mount_gpus(order.devices));
  TRY(mount_private(place, order));
  TRY(mount_extras(place, order.mounts));
  return verify_mounts(*order.request);
}

}  // namespace sandbox::jail
