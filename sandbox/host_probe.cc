#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sandbox/cgroup.h"
#include "sandbox/host.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "sandbox/self_test.h"

namespace sandbox {
namespace {

// A probe answers why the thing is missing, or nothing.
using Probe = std::function<std::string()>;

std::string failed(std::string_view what) { return os::fail_errno(what).error().message; }

// Runs a probe in a child process: what it unshares or mounts goes with the child.
std::string in_child(const Probe& probe) {
  std::array<int, 2> raw{};
  if (::pipe2(raw.data(), O_CLOEXEC) != 0) return failed("pipe");
  const os::Fd reader(raw[0]);
  os::Fd writer(raw[1]);
  const pid_t child = ::fork();
  if (child < 0) return failed("fork");
  if (child == 0) {
    const bool told = os::write_all(writer.get(), probe()).has_value();
    ::_exit(told ? 0 : 1);
  }
  writer.close();
  const os::Result<std::string> answer = os::read_all(reader.get(), 4096);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!answer) return answer.error().message;
  return status == 0 ? *answer : "the probe died";
}

std::string probe_root() {
  if (::geteuid() != 0) return "we do not run as root";
  return in_child([] { return ::unshare(CLONE_NEWNS) == 0 ? "" : failed("new mount namespace"); });
}

std::string try_namespaces() {
  constexpr std::array<std::pair<int, const char*>, 6> kKinds{{{CLONE_NEWUSER, "user"},
                                                               {CLONE_NEWNS, "mount"},
                                                               {CLONE_NEWPID, "pid"},
                                                               {CLONE_NEWNET, "net"},
                                                               {CLONE_NEWIPC, "ipc"},
                                                               {CLONE_NEWUTS, "uts"}}};
  for (const auto& [flag, name] : kKinds)
    if (::unshare(flag) != 0) return failed(fmt::format("new {} namespace", name));
  return {};
}

std::string try_overlay() {
  if (::unshare(CLONE_NEWNS) != 0) return failed("new mount namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed("private mounts");
  if (::mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m") != 0) return failed("mount tmpfs");
  for (const char* const name : {"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged"})
    if (::mkdir(name, 0755) != 0) return failed(name);
  if (::mount("overlay", "/tmp/merged", "overlay", 0,
              "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") != 0)
    return failed("mount overlay");
  return {};
}

// Filters that kill, and the very filters of both profiles, each call of the self-test's table.
std::string probe_seccomp() {
  std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) return failed("seccomp");
  for (const Profile profile : {Profile::step, Profile::strict})
    if (std::string why = in_child([profile] { return run_self_test(profile); }); !why.empty())
      return why;
  return {};
}

// A pipe in core_pattern is a program that the host starts as root for every crash (man 5 core).
std::string probe_core_pattern() {
  const os::Result<std::string> pattern = os::read_file("/proc/sys/kernel/core_pattern");
  if (!pattern) return pattern.error().message;
  if (!pattern->starts_with('|')) return {};
  return "crashes start " + pattern->substr(1, pattern->find_first_of(" \n") - 1);
}

// Why `directory` cannot be mounted with ids mapped as in `user_namespace`.
std::string idmap_of(const char* directory, int user_namespace) {
  const os::Fd tree(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, directory, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  if (!tree.is_open()) return failed("clone mount");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_IDMAP;
  attributes.userns_fd = static_cast<__u64>(user_namespace);
  if (::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) !=
      0)
    return failed(fmt::format("idmapped mount of {}", directory));
  return {};
}

// The namespace is held by a child that waits to be killed.
std::string try_idmap() {
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC) != 0) return failed("pipe");
  const pid_t holder = ::fork();
  if (holder < 0) return failed("fork");
  if (holder == 0) {
    const char ok = ::unshare(CLONE_NEWUSER) == 0 ? '1' : '0';
    if (::write(ready[1], &ok, 1) == 1) ::pause();
    ::_exit(0);
  }
  char ok = '0';
  std::string why;
  const std::string process = fmt::format("/proc/{}", holder);
  const auto put = [&](const char* name) {
    const os::Result<os::Fd> file = os::open_file(process + name, O_WRONLY);
    return file && os::write_all(file->get(), "0 1000 1\n").has_value();
  };
  if (::read(ready[0], &ok, 1) != 1 || ok != '1' || !put("/uid_map") || !put("/gid_map")) {
    why = "no user namespace to map by";
  } else if (const os::Result<os::Fd> space = os::open_file(process + "/ns/user", O_RDONLY)) {
    why = idmap_of("/usr", space->get());
  } else {
    why = space.error().message;
  }
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  return why;
}

std::string try_landlock() {
  return ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0},
                   LANDLOCK_CREATE_RULESET_VERSION) >= 2
             ? ""
             : "no Landlock of ABI 2 or newer";
}

std::string try_cgroup_namespace() {
  return ::unshare(CLONE_NEWCGROUP) == 0 ? "" : failed("new cgroup namespace");
}

std::string try_psi() {
  return ::access("/proc/pressure/memory", R_OK) == 0 ? "" : failed("/proc/pressure/memory");
}

Feature make(std::string name, bool required, const std::string& why, std::string remedy,
             std::string found = "works") {
  const bool present = why.empty();
  return {std::move(name), required, present, present ? std::move(found) : why,
          present ? "" : std::move(remedy)};
}

// Makes a group, writes every limit and removes it.
void probe_cgroups(std::vector<Feature>& features) {
  constexpr const char* kRemedy =
      "run as root where /sys/fs/cgroup is writable (systemd: Delegate=yes; a container: "
      "--privileged --cgroupns=host)";
  const os::Result<CgroupHost> host = CgroupHost::detect();
  const std::string found = host ? host->describe() : host.error().message;
  std::string why;
  std::vector<std::string> gaps;
  if (host && host->layout() != CgroupLayout::none) {
    os::Result<Cgroup> group =
        Cgroup::create(*host, "proofhouse-probe-" + os::random_hex(4) + "/x");
    os::Result<std::vector<std::string>> applied =
        group ? group->apply(Limits{}, available_cpus())
              : os::Result<std::vector<std::string>>(std::unexpected(group.error()));
    if (applied)
      gaps = std::move(*applied);
    else
      why = applied.error().message;
  } else {
    why = found;
  }
  const auto add = [&](const char* name, bool required, const char* gap) {
    const bool is_gap = std::ranges::find(gaps, name) != gaps.end();
    features.push_back(make(name, required,
                            !why.empty() ? why
                            : is_gap     ? gap
                                         : "",
                            kRemedy, found));
  };
  add("cgroup_memory", true, "no hierarchy has the memory controller");
  add("cgroup_swap", true, "there is swap, and the kernel cannot limit it for a group");
  add("cgroup_pids", true, "no hierarchy has the pids controller");
  add("cgroup_cpu", true, "no hierarchy has the cpu controller");
  add("device_denial", true, "neither the devices controller nor cgroup2 for a BPF program");
  add("cgroup_cpuset", false, "no hierarchy has the cpuset controller");
  const bool unified =
      host && std::ranges::any_of(host->hierarchies(), &CgroupHost::Hierarchy::is_unified);
  features.push_back(make("cgroup_unified", false, unified ? "" : "no cgroup2 is mounted",
                          "mount -t cgroup2 none /sys/fs/cgroup/unified", "kill, freeze, usage"));
}

}  // namespace

std::vector<Feature> probe_host() {
  std::vector<Feature> features;
  features.push_back(make("root", true, probe_root(),
                          "run as root, or in a container with --privileged",
                          "mounts are allowed"));
  features.push_back(make("user_namespace", true, in_child(try_namespaces),
                          "sysctl user.max_user_namespaces and kernel.unprivileged_userns_clone; a "
                          "container: --privileged",
                          "user, mount, pid, net, ipc and uts"));
  features.push_back(make("overlayfs", true, in_child(try_overlay), "modprobe overlay"));
  features.push_back(
      make("seccomp", true, probe_seccomp(),
           "a kernel with CONFIG_SECCOMP_FILTER, and libseccomp 2.5.4 or newer",
           fmt::format("self-test: {} calls answer as they should",
                       self_test_calls(Profile::step) + self_test_calls(Profile::strict))));
  probe_cgroups(features);
  features.push_back(make("cgroup_namespace", false, in_child(try_cgroup_namespace),
                          "a kernel with CONFIG_CGROUPS"));
  features.push_back(make("idmap", false, in_child(try_idmap),
                          "Linux 5.12 and ext4, xfs or btrfs (tmpfs: Linux 6.3); else trees are "
                          "copied for each sandbox",
                          "idmapped mounts of the file system of /usr"));
  features.push_back(make("landlock", false, in_child(try_landlock),
                          "Linux 5.19 with lsm=landlock,… at boot",
                          "a second guard of files, sockets and signals"));
  features.push_back(make("core_pattern", false, probe_core_pattern(),
                          "sysctl kernel.core_pattern=core: the handler runs outside of sandboxes",
                          "no program is started for a crash"));
  features.push_back(make("psi", false, in_child(try_psi), "psi=1 at boot"));
  return features;
}

}  // namespace sandbox
