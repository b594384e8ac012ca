#include "sandbox/jail/stage.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fmt/format.h>

#include "sandbox/ablation.h"
#include "sandbox/overlay.h"

namespace sandbox::jail {
namespace {

using Kind = RootEntry::Kind;

// A mount taken from the host, and where it goes on the stage.
struct Taken {
  os::Fd mount;
  std::string target;
  bool is_directory = true;
};

os::Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return os::fail_errno("make directory " + path);
  return {};
}

// A given descriptor as a detached mount; nothing when it was not given.
os::Result<void> take_descriptor(int number, const char* target, MountFlags flags,
                                 std::vector<Taken>& taken) {
  if (::fcntl(number, F_GETFD) < 0) return {};
  os::Fd given(number);
  os::Fd mount = TRY_CONTEXT(clone_mount(number, ""), target);
  TRY_CONTEXT(restrict_mount(mount.get(), flags), target);
  taken.push_back({std::move(mount), target, true});
  return {};
}

// What the host has of one entry of the plan.
os::Result<void> take_host_entry(RootEntry plan, std::vector<HostEntry>& host,
                                 std::vector<Taken>& taken) {
  HostEntry entry{std::move(plan), {}, false, -1};
  const bool from_host = entry.plan.kind == Kind::as_host || entry.plan.kind == Kind::host ||
                         entry.plan.kind == Kind::required;
  if (!from_host) {
    host.push_back(std::move(entry));
    return {};
  }
  std::string target(4096, '\0');
  const ssize_t length = ::readlink(entry.plan.path.c_str(), target.data(), target.size());
  if (entry.plan.kind == Kind::as_host && length > 0) {
    target.resize(static_cast<std::size_t>(length));
    entry.link = std::move(target);
    host.push_back(std::move(entry));
    return {};
  }
  const os::Result<os::Fd> opened = os::open_file(entry.plan.path, O_PATH);
  if (!opened && entry.plan.kind != Kind::required) return {};
  if (!opened) return std::unexpected(opened.error());
  struct stat info{};
  if (::fstat(opened->get(), &info) != 0) return os::fail_errno("stat " + entry.plan.path);
  entry.is_directory = S_ISDIR(info.st_mode);
  entry.number = static_cast<int>(host.size());
  taken.push_back({TRY_CONTEXT(clone_mount(opened->get(), "", Below::include), entry.plan.path),
                   fmt::format("/host/{}", entry.number), entry.is_directory});
  host.push_back(std::move(entry));
  return {};
}

os::Result<std::vector<Taken>> take_grants() {
  std::vector<Taken> taken;
  const MountFlags writable;
  const MountFlags read_only{.read_only = true};
  TRY(take_descriptor(kAttemptDirFd, "/attempt", writable, taken));
  TRY(take_descriptor(kTreesFd, "/trees", writable, taken));
  TRY(take_descriptor(kLayersFd, "/layers", writable, taken));
  TRY(take_descriptor(kRepositoryFd, "/repository", read_only, taken));
  TRY(take_descriptor(kDirectoryFd, "/directory", read_only, taken));
  TRY(take_descriptor(kProgramsFd, "/programs", read_only, taken));
  TRY(take_descriptor(kGrantsFd, "/grants", read_only, taken));
  return taken;
}

os::Result<void> take_driver(const std::vector<DriverFile>& files, std::vector<Taken>& taken) {
  for (std::size_t n = 0; n < files.size(); ++n)
    taken.push_back({TRY_CONTEXT(clone_mount(AT_FDCWD, files[n].path), files[n].path),
                     fmt::format("/driver/{}", n), false});
  return {};
}

os::Result<void> take_system(const CgroupHost& host, std::vector<Taken>& taken) {
  taken.push_back({TRY(clone_mount(AT_FDCWD, "/proc")), "/proc", true});
  for (const CgroupHost::Hierarchy& hierarchy : host.hierarchies())
    taken.push_back({TRY(clone_mount(AT_FDCWD, hierarchy.mount)), hierarchy.mount, true});
  return {};
}

// The first root file system, an initramfs, cannot be pivoted away from: there the new root covers
// it (Documentation/filesystems/ramfs-rootfs-initramfs.rst). Commands pivot away from the new one.
os::Result<void> leave_old_root() {
  if (::syscall(SYS_pivot_root, ".", ".") == 0) return detach_mount(".");
  if (errno != EINVAL) return os::fail_errno("pivot_root to the stage");
  if (::mount(".", "/", nullptr, MS_MOVE, nullptr) != 0 || ::chroot(".") != 0)
    return os::fail_errno("move the stage to the root");
  return {};
}

// In a new mount namespace: an empty root that holds what was taken; the old one is gone.
os::Result<void> change_root(const std::vector<Taken>& taken) {
  if (::unshare(CLONE_NEWNS) != 0) return os::fail_errno("unshare mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return os::fail_errno("make mounts private");
  // /proc is but a directory that exists everywhere: the new root is moved off it at once.
  const std::string root = "/proc";
  TRY(mount_tmpfs(root, {.size = os::Bytes{4U << 20U}, .inodes = 4096, .mode = 0700}));
  for (const Taken& mount : taken) {
    TRY(make_mount_point(root, mount.target, mount.is_directory));
    TRY(attach_mount(mount.mount.get(), root + mount.target));
  }
  for (const char* path : {"/root", "/w", "/o", "/m"}) TRY(make_directory(root + path));
  if (::chdir(root.c_str()) != 0) return os::fail_errno("enter the stage");
  TRY(leave_old_root());
  if (::chdir("/") != 0) return os::fail_errno("enter the stage");
  // What came from shared mounts is still in their peer groups.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return os::fail_errno("make mounts private");
  return {};
}

os::Result<os::Fd> open_grant(const char* path) {
  os::Result<os::Fd> directory = os::open_file(path, O_PATH | O_DIRECTORY);
  if (!directory && directory.error().code == os::Code::not_found) return os::Fd();
  return directory;
}

os::Result<void> own(const std::string& path, std::uint32_t owner) {
  if (::lchown(path.c_str(), owner, owner) != 0) return os::fail_errno("chown " + path);
  return {};
}

os::Result<void> make_link(const std::string& text, const std::string& path) {
  if (::symlink(text.c_str(), path.c_str()) != 0) return os::fail_errno("make link " + path);
  return {};
}

os::Result<void> make_file(const std::string& path, const std::string& text) {
  const os::Fd file = TRY(os::open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644));
  TRY_CONTEXT(os::write_all(file.get(), text), path);
  return {};
}

os::Result<void> make_node(const std::string& path, dev_t device, std::uint32_t owner) {
  if (::mknod(path.c_str(), S_IFCHR, device) != 0 || ::chmod(path.c_str(), 0666) != 0)
    return os::fail_errno("make device " + path);
  return own(path, owner);
}

// A read-only view in which the host's ids show as the sandbox's; where the file system allows no
// id map, they show as nobody.
os::Result<void> show(const std::string& source, const std::string& target, int user_namespace) {
  const os::Fd mount = TRY(clone_mount(AT_FDCWD, source, Below::include));
  const MountFlags flags{.read_only = true};
  if (!restrict_mount(mount.get(), flags, user_namespace, Below::include))
    TRY(restrict_mount(mount.get(), flags, -1, Below::include));
  return attach_mount(mount.get(), target);
}

os::Result<void> show_entry(const HostEntry& entry, const std::string& root, std::uint32_t owner,
                            int user_namespace) {
  const std::string path = root + entry.plan.path;
  switch (entry.plan.kind) {
    case Kind::directory:
      TRY(make_mount_point(root, entry.plan.path, true));
      return own(path, owner);
    case Kind::file:
      TRY(make_file(path, entry.plan.text));
      return own(path, owner);
    case Kind::link:
      return make_link(entry.plan.text, path);
    case Kind::as_host:
    case Kind::host:
    case Kind::required:
      if (!entry.link.empty()) return make_link(entry.link, path);
      TRY(make_mount_point(root, entry.plan.path, entry.is_directory));
      return show(fmt::format("/host/{}", entry.number), path, user_namespace);
  }
  return {};
}

}  // namespace

os::Result<void> make_devices(const std::string& dev, std::uint32_t owner,
                              const std::vector<GpuNode>& gpus) {
  TRY(mount_tmpfs(dev, {.size = os::Bytes{64U << 10U},
                        .inodes = 320,
                        .uid = owner,
                        .gid = owner,
                        .flags = {.no_exec = true, .devices = true}}));
  for (const DeviceNode& node : device_nodes())
    TRY(make_node(fmt::format("{}/{}", dev, node.name),
                  ::makedev(node.major_number, node.minor_number), owner));
  for (const GpuNode& node : gpus) {
    TRY(make_mount_point(dev, "/" + node.name, false));
    const std::string path = fmt::format("{}/{}", dev, node.name);
    if (::unlink(path.c_str()) != 0) return os::fail_errno("make device " + path);
    TRY(make_node(path, ::makedev(node.major_number, node.minor_number), owner));
  }
  TRY(make_link("/proc/self/fd", dev + "/fd"));
  TRY(make_link("/proc/self/fd/0", dev + "/stdin"));
  TRY(make_link("/proc/self/fd/1", dev + "/stdout"));
  TRY(make_link("/proc/self/fd/2", dev + "/stderr"));
  TRY(make_directory(dev + "/shm"));
  TRY(make_directory(dev + "/mqueue"));
  if (::mount(nullptr, dev.c_str(), nullptr,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, nullptr) != 0)
    return os::fail_errno("make /dev read-only");
  return {};
}

os::Result<void> make_mount_point(const std::string& root, const std::string& path,
                                  bool is_directory) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    TRY(make_directory(root + path.substr(0, at)));
  if (is_directory) return make_directory(root + path);
  const os::Fd file = TRY(os::open_file(root + path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644));
  return {};
}

os::Result<Stage> Stage::enter(const Bounds& bounds, const CgroupHost& host) {
  Stage stage;
  std::vector<Taken> taken = TRY(take_grants());
  for (RootEntry& plan : root_plan(bounds.read_only_paths))
    TRY(take_host_entry(std::move(plan), stage.host_, taken));
  TRY(take_driver(bounds.driver_files, taken));
  TRY(take_system(host, taken));
  TRY(change_root(taken));
  stage.grants_.attempt = TRY(open_grant("/attempt"));
  stage.grants_.trees = TRY(open_grant("/trees"));
  stage.grants_.layers = TRY(open_grant("/layers"));
  stage.grants_.repository = TRY(open_grant("/repository"));
  stage.grants_.directory = TRY(open_grant("/directory"));
  stage.grants_.programs = TRY(open_grant("/programs"));
  stage.grants_.grants = TRY(open_grant("/grants"));
  if (!stage.grants_.attempt.is_open())
    return os::fail(os::Code::invalid, "no attempt directory was given");
  return stage;
}

os::Result<std::string> Stage::root(Domain domain, UserNamespaces& spaces) {
  const auto index = static_cast<std::size_t>(domain);
  std::string path = fmt::format("/root/{}", index);
  if (roots_[index]) return path;
  TRY(make_directory(path));
  TRY(build_root(path, domain, spaces));
  roots_[index] = true;
  return path;
}

os::Result<void> Stage::build_root(const std::string& root, Domain domain, UserNamespaces& spaces) {
  const std::uint32_t owner = spaces.outside(domain, 0);
  const int space = TRY(spaces.sandbox(domain));
  TRY(mount_tmpfs(root,
                  {.size = os::Bytes{4U << 20U}, .inodes = 1024, .uid = owner, .gid = owner}));
  for (const HostEntry& entry : host_) TRY(show_entry(entry, root, owner, space));
  TRY(make_devices(root + "/dev", owner));
  if (grants_.programs.is_open()) TRY(show("/programs", root + "/proofhouse", space));
  if (is_left_out(Layer::read_only_root)) return {};
  if (::mount(nullptr, root.c_str(), nullptr,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0)
    return os::fail_errno("make the root read-only");
  return {};
}

}  // namespace sandbox::jail
