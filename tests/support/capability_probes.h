#pragma once

#include <string>

// One function a capability: empty when it is there, else one line that says what failed. What
// each name means stands in the table of capability.cc.
namespace tests {

std::string probe_root();
std::string probe_userns();
std::string probe_overlayfs();
std::string probe_cgroup();
std::string probe_cgroup2();
std::string probe_seccomp();
std::string probe_idmap();
std::string probe_openat2();
std::string probe_landlock();
std::string probe_qemu();
std::string probe_gpu();
std::string probe_opencl();
std::string probe_nvcc();
std::string probe_chromium();
std::string probe_git();
std::string probe_gdb();
std::string probe_ci_readers();

}  // namespace tests
