#include "tests/support/capability.h"

#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/capability_probes.h"

namespace tests {
namespace {

struct Entry {
  Capability capability;
  std::string (*probe)();
};

constexpr std::array kEntries{
    Entry{{"root", "effective user 0 with CAP_SYS_ADMIN"}, probe_root},
    Entry{{"userns", "user, mount, pid, net, ipc and uts namespaces"}, probe_userns},
    Entry{{"overlayfs", "an overlay of two tmpfs directories"}, probe_overlayfs},
    Entry{{"cgroup", "memory, pids and cpu groups can be made, v1 or v2"}, probe_cgroup},
    Entry{{"cgroup2", "memory, pids and cpu groups can be made in a cgroup2 mount"}, probe_cgroup2},
    Entry{{"seccomp", "seccomp filters that kill the process"}, probe_seccomp},
    Entry{{"idmap", "idmapped mounts of the temporary directory's filesystem"}, probe_idmap},
    Entry{{"openat2", "paths opened beneath a directory (not in our own sandbox)"}, probe_openat2},
    Entry{{"landlock", "Landlock rulesets"}, probe_landlock},
    Entry{{"qemu", "qemu-system-x86_64, busybox, cpio and the cached kernel"}, probe_qemu},
    Entry{{"gpu", "an NVIDIA device and its driver"}, probe_gpu},
    Entry{{"opencl", "PoCL and the OpenCL headers"}, probe_opencl},
    Entry{{"nvcc", "the CUDA compiler"}, probe_nvcc},
    Entry{{"chromium", "Chromium, and chromedriver to drive it"}, probe_chromium},
    Entry{{"git", "the git program"}, probe_git},
    Entry{{"gdb", "the debugger"}, probe_gdb},
    Entry{{"ci_readers", "python3-jsonschema, python3-junitparser and the schema of SARIF"},
          probe_ci_readers},
};

}  // namespace

std::vector<Capability> all_capabilities() {
  std::vector<Capability> capabilities;
  for (const Entry& entry : kEntries) capabilities.push_back(entry.capability);
  return capabilities;
}

std::string why_missing(std::string_view name) {
  static std::map<std::string_view, std::string> known;
  for (const Entry& entry : kEntries) {
    if (entry.capability.name != name) continue;
    const auto found = known.find(entry.capability.name);
    if (found != known.end()) return found->second;
    return known.emplace(entry.capability.name, entry.probe()).first->second;
  }
  return "unknown capability";
}

bool is_everything_built() {
  const char* const value = std::getenv("EXPECT_CAPABILITIES");
  return value != nullptr && *value != '\0';
}

bool is_expected(std::string_view name) {
  const char* const value = std::getenv("EXPECT_CAPABILITIES");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (rest.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace tests
