#include "tests/support/capability_probes.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/programs.h"

namespace tests {
namespace {

constexpr int kAllNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

// "<what>: <text of errno>".
std::string failed(std::string_view what) {
  return std::string(what) + ": " + std::strerror(errno);
}

// Runs `probe` in a child process, where it may change namespaces and mounts, and returns what
// it returned. Whatever it mounted goes with the child.
std::string in_child(std::string (*probe)()) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("pipe2");
  const pid_t child = ::fork();
  if (child < 0) return failed("fork");
  if (child == 0) {
    const std::string answer = probe() + "\n";
    const ssize_t written = ::write(ends[1], answer.data(), answer.size());
    ::_exit(written == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[512];
  for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return failed("waitpid");
  if (answer.empty()) return "the probe died";
  answer.pop_back();
  return answer;
}

bool write_file(const std::string& path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  file.flush();
  return file.good();
}

// Enters a mount namespace of its own, through a user namespace where the caller is not root.
std::string enter_mount_namespace() {
  const uid_t uid = ::geteuid();
  if (::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) {
    return failed("unshare");
  }
  if (uid != 0 && !write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1\n")) {
    return failed("/proc/self/uid_map");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return failed("mount / private");
  }
  return {};
}

std::string try_overlay() {
  if (std::string why = enter_mount_namespace(); !why.empty()) return why;
  if (::mount("tmpfs", "/tmp", "tmpfs", 0, "size=1m") != 0) return failed("mount tmpfs");
  for (const char* const name : {"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged"}) {
    if (::mkdir(name, 0755) != 0) return failed(name);
  }
  if (::mount("overlay", "/tmp/merged", "overlay", 0,
              "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work") != 0) {
    return failed("mount overlay");
  }
  return write_file("/tmp/merged/file", "x") ? "" : failed("write in the overlay");
}

std::string try_namespaces() {
  return ::unshare(kAllNamespaces) == 0 ? "" : failed("unshare of all namespaces");
}

// A user namespace that maps 0 to 1000, held by a child that waits; its descriptor, or -1.
int make_user_namespace(pid_t& holder) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) return -1;
  holder = ::fork();
  if (holder < 0) return -1;
  if (holder == 0) {
    const char outcome = ::unshare(CLONE_NEWUSER) == 0 ? '1' : '0';
    if (::write(ready[1], &outcome, 1) == 1) ::pause();
    ::_exit(0);
  }
  char outcome = '0';
  if (::read(ready[0], &outcome, 1) != 1 || outcome != '1') return -1;
  const std::string process = "/proc/" + std::to_string(holder);
  if (!write_file(process + "/uid_map", "0 1000 1\n")) return -1;
  if (!write_file(process + "/gid_map", "0 1000 1\n")) return -1;
  return ::open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC);
}

std::string try_idmap_of(const std::string& directory) {
  pid_t holder = -1;
  const int user_namespace = make_user_namespace(holder);
  std::string why;
  const auto tree = static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, directory.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (user_namespace < 0) {
    why = failed("user namespace");
  } else if (tree < 0) {
    why = failed("open_tree");
  } else {
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<__u64>(user_namespace);
    if (::syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) !=
        0) {
      why = failed("mount_setattr(MOUNT_ATTR_IDMAP) of " + directory);
    }
  }
  if (holder > 0) {
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  }
  return why;
}

std::string try_idmap() {
  const char* const temporary = std::getenv("TMPDIR");
  return try_idmap_of(temporary == nullptr ? "/tmp" : temporary);
}

// Makes and removes a group below `parent`.
std::string try_group(const std::string& parent) {
  const std::string group = parent + "/proofhouse-probe-" + std::to_string(::getpid());
  if (::mkdir(group.c_str(), 0755) != 0) return failed(group);
  return ::rmdir(group.c_str()) == 0 ? "" : failed("rmdir " + group);
}

bool has_word(const std::string& text, std::string_view wanted, char separator) {
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, separator);) {
    if (word == wanted) return true;
  }
  return false;
}

// Where the v1 hierarchy with this controller is mounted (`man 5 proc`, mountinfo); else empty.
std::string v1_mount(std::string_view controller) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t dash = line.find(" - cgroup ");
    if (dash == std::string::npos) continue;
    const std::string options = line.substr(line.rfind(' ') + 1);
    if (!has_word(options, controller, ',')) continue;
    std::istringstream fields(line);
    std::string point;
    for (int field = 0; field < 5; ++field) fields >> point;
    return point;
  }
  return {};
}

std::string try_cgroup_v1() {
  for (const char* const controller : {"memory", "pids", "cpu"}) {
    const std::string point = v1_mount(controller);
    if (point.empty()) return std::string("no v1 hierarchy has ") + controller;
    if (std::string why = try_group(point); !why.empty()) return why;
  }
  return {};
}

bool is_program(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// The first of `names` found in PATH or, with a slash, at its place; else why not.
std::string need_program(std::initializer_list<std::string_view> names) {
  const char* const path = std::getenv("PATH");
  for (const std::string_view name : names) {
    if (name.contains('/') && is_program(std::string(name))) return {};
    std::istringstream folders(path == nullptr ? "/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (is_program(folder + "/" + std::string(name))) return {};
    }
  }
  return std::string(*names.begin()) + " is not installed";
}

}  // namespace

std::string probe_root() {
  if (::geteuid() != 0) return "the effective user is not root";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    const std::uint64_t set = std::strtoull(line.c_str() + 7, nullptr, 16);
    if ((set >> CAP_SYS_ADMIN & 1U) == 0) return "root has no CAP_SYS_ADMIN";
  }
  return {};
}

std::string probe_userns() { return in_child(try_namespaces); }

std::string probe_overlayfs() { return in_child(try_overlay); }

std::string probe_cgroup() {
  const std::string v1 = try_cgroup_v1();
  if (v1.empty()) return {};
  const std::string v2 = probe_cgroup2();
  return v2.empty() ? "" : "v1: " + v1 + "; v2: " + v2;
}

std::string probe_cgroup2() {
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    std::ifstream file(mount + "/cgroup.controllers");
    std::string controllers;
    if (!std::getline(file, controllers)) continue;
    for (const char* const controller : {"memory", "pids", "cpu"}) {
      if (!has_word(controllers, controller, ' ')) {
        return mount + "/cgroup.controllers lacks " + controller;
      }
    }
    return try_group(mount);
  }
  return "no cgroup2 is mounted at /sys/fs/cgroup";
}

std::string probe_seccomp() {
  const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0
             ? ""
             : failed("seccomp(SECCOMP_GET_ACTION_AVAIL)");
}

std::string probe_idmap() {
  if (std::string why = probe_root(); !why.empty()) return why;
  return in_child(try_idmap);
}

std::string probe_openat2() {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  const long root = ::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how);
  if (root < 0) return failed("openat2");
  ::close(static_cast<int>(root));
  return "";
}

std::string probe_landlock() {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, std::size_t{0},
                                 LANDLOCK_CREATE_RULESET_VERSION);
  return version >= 1 ? "" : failed("landlock_create_ruleset");
}

std::string probe_qemu() {
  for (const std::string_view program : {"qemu-system-x86_64", "busybox", "cpio"}) {
    if (std::string why = need_program({program}); !why.empty()) return why;
  }
  const std::string kernel = PROOFHOUSE_SOURCE_DIR "/build/deps/qemu/vmlinuz";
  return ::access(kernel.c_str(), R_OK) == 0 ? "" : failed(kernel);
}

std::string probe_gpu() {
  return ::access("/dev/nvidiactl", R_OK | W_OK) == 0 ? "" : failed("/dev/nvidiactl");
}

std::string probe_opencl() {
  for (const char* const file : {"/etc/OpenCL/vendors/pocl.icd", "/usr/include/CL/cl.h"})
    if (::access(file, R_OK) != 0) return failed(file);
  return "";
}

std::string probe_nvcc() { return need_program({"nvcc", "/usr/local/cuda/bin/nvcc"}); }

std::string probe_chromium() {
  const std::string why = need_program({"chromium", "chromium-browser"});
  return why.empty() ? need_program({"chromedriver"}) : why;
}

std::string probe_git() { return need_program({"git"}); }

std::string probe_gdb() { return need_program({"gdb"}); }

std::string probe_ci_readers() {
  const std::string schema = source_dir() / "build/deps/sarif/sarif-2.1.0.json";
  for (const std::string& file :
       {std::string("/usr/lib/python3/dist-packages/jsonschema"),
        std::string("/usr/lib/python3/dist-packages/junitparser"), schema})
    if (::access(file.c_str(), R_OK) != 0) return failed(file);
  return "";
}

}  // namespace tests
