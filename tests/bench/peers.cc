#include "tests/bench/peers.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "tests/bench/bench_jail.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeccompless = "user mnt pid net ipc uts; no cgroup, no seccomp";

// A bundle of the OCI runtime specification: what crun and runc read.
std::string bundle_config() {
  constexpr std::string_view kResources =
      R"(,"cgroupsPath":"/proofhouse-peer","resources":{"memory":{"limit":268435456},)"
      R"("pids":{"limit":512},"cpu":{"quota":200000,"period":100000}})";
  constexpr std::string_view kMounts =
      R"({"destination":"/usr","source":"/usr","type":"none","options":["bind","ro","nosuid"]},)"
      R"({"destination":"/proc","type":"proc","source":"proc"},)"
      R"({"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755"]},)"
      R"({"destination":"/tmp","type":"tmpfs","source":"tmpfs","options":["size=64m"]})";
  constexpr std::string_view kSeccomp =
      R"("seccomp":{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{"names":["mount","umount2",)"
      R"("ptrace","bpf","keyctl","unshare","setns"],"action":"SCMP_ACT_ERRNO"}]})";
  return fmt::format(
      R"({{"ociVersion":"1.0.2","root":{{"path":"root","readonly":true}},"mounts":[{}],)"
      R"("process":{{"user":{{"uid":0,"gid":0}},"args":["{}"],"env":["PATH=/usr/bin"],"cwd":"/",)"
      R"("noNewPrivileges":true}},"linux":{{"namespaces":[{{"type":"pid"}},{{"type":"mount"}},)"
      R"({{"type":"ipc"}},{{"type":"uts"}},{{"type":"network"}},{{"type":"user"}}],)"
      R"("uidMappings":[{{"containerID":0,"hostID":200000,"size":65536}}],)"
      R"("gidMappings":[{{"containerID":0,"hostID":200000,"size":65536}}],{}{}}}}})",
      kMounts, kCommand, kSeccomp, kResources);
}

// An empty root with the links that a merged /usr wants.
os::Result<void> make_root(const fs::path& root) {
  std::error_code error;
  for (const char* name : {"usr", "proc", "dev", "tmp", "etc", "var", "run", "sys", "root"})
    fs::create_directories(root / name, error);
  for (const char* name : {"bin", "lib", "lib64"})
    fs::create_symlink(std::string("usr/") + name, root / name, error);
  if (error) return os::fail(os::Code::internal, "root of peers: " + error.message());
  return os::write_file_durably((root / "etc/os-release").string(), "ID=bench\n", 0644);
}

os::Result<void> make_bundle(const fs::path& bundle) {
  TRY(make_root(bundle / "root"));
  // The host's user 0 is not mapped: the root has to be theirs.
  for (const auto& entry : fs::recursive_directory_iterator(bundle / "root"))
    if (::lchown(entry.path().c_str(), 200'000, 200'000) != 0) return os::fail_errno("chown");
  if (::lchown((bundle / "root").c_str(), 200'000, 200'000) != 0) return os::fail_errno("chown");
  return os::write_file_durably((bundle / "config.json").string(), bundle_config(), 0644);
}

// `make` gives the command line for the n-th run.
Peer make_peer(std::string name, std::string isolates, const std::string& program,
               std::function<std::vector<std::string>(int)> make) {
  Peer peer{std::move(name), std::move(isolates), {}, {}};
  if (::access(program.c_str(), X_OK) != 0) {
    peer.absent = program + " is not installed";
    return peer;
  }
  peer.run = [make = std::move(make), count = 0]() mutable {
    return spawn_and_wait(make(count++));
  };
  if (const os::Result<void> tried = peer.run(); !tried) peer.absent = tried.error().message;
  return peer;
}

Peer bubblewrap() {
  return make_peer("bubblewrap", kSeccompless, "/usr/bin/bwrap", [](int) {
    return std::vector<std::string>{"/usr/bin/bwrap", "--unshare-all", "--die-with-parent",
                                    "--new-session",  "--ro-bind",     "/usr",
                                    "/usr",           "--symlink",     "usr/bin",
                                    "/bin",           "--symlink",     "usr/lib",
                                    "/lib",           "--symlink",     "usr/lib64",
                                    "/lib64",         "--proc",        "/proc",
                                    "--dev",          "/dev",          "--tmpfs",
                                    "/tmp",           kCommand};
  });
}

Peer oci_runtime(const std::string& name, const std::string& program, const std::string& bundle,
                 std::vector<std::string> options, const std::string& isolates) {
  return make_peer(name, isolates, program, [=](int count) {
    std::vector<std::string> command{program};
    command.insert(command.end(), options.begin(), options.end());
    for (const char* word : {"run", "--bundle"}) command.emplace_back(word);
    command.push_back(bundle);
    command.push_back(fmt::format("bench-{}-{}-{}", name, ::getpid(), count));
    return command;
  });
}

// Takes the controller from v2 for as long as the descriptor is open; nothing stays mounted.
os::Result<os::Fd> take_hugetlb(const std::string& place) {
  TRY(os::make_directories(place, 0755));
  if (::mount("none", place.c_str(), "cgroup", 0, "hugetlb") != 0) return os::Fd();
  os::Result<os::Fd> held = os::open_file(place, O_RDONLY | O_DIRECTORY);
  if (::umount2(place.c_str(), MNT_DETACH) != 0) return os::fail_errno("unmount " + place);
  return held;
}

}  // namespace

os::Result<void> spawn_and_wait(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  char path[] = "PATH=/usr/sbin:/usr/bin";
  char* const environment[] = {path, nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int number : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0);
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return os::fail_errno(error, "posix_spawn");
  int status = -1;
  if (::waitpid(child, &status, 0) != child) return os::fail_errno("waitpid");
  if (status != 0)
    return os::fail(os::Code::internal, fmt::format("{} ended with status {}", command[0], status));
  return {};
}

os::Result<std::vector<Peer>> find_peers(const std::string& directory) {
  // Whoever is user 0 in a sandbox has to reach its root.
  if (::chmod(directory.c_str(), 0755) != 0) return os::fail_errno("chmod");
  const std::string limited = directory + "/limited";
  const std::string tree = directory + "/tree";
  TRY(make_bundle(limited));
  TRY(make_root(tree));
  std::vector<Peer> peers;
  peers.push_back(bubblewrap());
  constexpr const char* kLimited = "user mnt pid net ipc uts, seccomp, memory pids cpu";
  Peer crun = oci_runtime("crun", "/usr/bin/crun", limited, {}, kLimited);
  if (!crun.absent.empty() && ::access("/usr/bin/crun", X_OK) == 0) {
    // It refuses a v2 hierarchy with any controller beside v1; hugetlb is often left there.
    const auto held = std::make_shared<os::Fd>(TRY(take_hugetlb(directory + "/hugetlb")));
    crun = oci_runtime("crun", "/usr/bin/crun", limited, {}, kLimited);
    crun.run = [run = crun.run, held] { return run(); };
  }
  peers.push_back(std::move(crun));
  peers.push_back(oci_runtime("runc", "/usr/sbin/runc", limited, {}, kLimited));
  peers.push_back(make_peer(
      "firejail", "mnt pid net ipc, seccomp; no user ns, no cgroup", "/usr/bin/firejail", [](int) {
        return std::vector<std::string>{"/usr/bin/firejail", "--quiet",         "--noprofile",
                                        "--net=none",        "--ipc-namespace", "--private-dev",
                                        "--seccomp",         "--caps.drop=all", kCommand};
      }));
  peers.push_back(make_peer("systemd-nspawn", "mnt pid net ipc uts, seccomp; no user ns, no limits",
                            "/usr/bin/systemd-nspawn", [tree](int) {
                              return std::vector<std::string>{"/usr/bin/systemd-nspawn",
                                                              "--quiet",
                                                              "--register=no",
                                                              "--keep-unit",
                                                              "--private-network",
                                                              "--read-only",
                                                              "--directory=" + tree,
                                                              "--bind-ro=/usr",
                                                              "--as-pid2",
                                                              kCommand};
                            }));
  return peers;
}

}  // namespace bench
