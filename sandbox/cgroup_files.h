// Files of cgroups: one value or one table each, read and written through the group's directory.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/request.h"

namespace sandbox {

class CgroupHost;

// The directory of a group; not_found where there is none.
os::Result<os::Fd> open_group(const std::string& path);

// The content of a group's file; not_found where the kernel has no such file.
os::Result<std::string> read_group_file(int directory, const std::string& name);
// One write(2) of the whole value, as the kernel's parsers want it.
os::Result<void> write_group_file(int directory, const std::string& name, std::string_view value);
bool has_group_file(int directory, const std::string& name);

// The number a file begins with. "max" is the greatest one; a missing file is `otherwise`.
std::int64_t group_number(int directory, const std::string& name, std::int64_t otherwise = 0);
// The number behind a key in a file of lines "key number"; 0 where either is missing.
std::int64_t group_counter(int directory, const std::string& name, std::string_view key);

// True when blank- or comma-separated `words` hold `word`.
bool has_word(std::string_view words, std::string_view word);

// Paths of the group and all groups below it, each before those below it.
std::vector<std::string> group_tree(const std::string& path);
// Process ids in the group and all below it, without our own; several times, once or never for one
// that moves meanwhile.
std::vector<pid_t> group_processes(const std::string& path);

// CPU time that a group has used, all below it included, in microseconds: of its directory in the
// unified hierarchy or in that of cpuacct, or of its path; 0 where it is not there.
std::int64_t group_cpu_us(int directory, bool is_unified);
std::int64_t group_cpu_us(const CgroupHost& host, const std::string& path);

// Keeps every program in `directory` (a v2 group) from all devices but null, zero, full, random,
// urandom, tty and `devices`, with a BPF_PROG_TYPE_CGROUP_DEVICE program (man 2 bpf). Needs root.
os::Result<void> deny_devices_by_bpf(int directory, const std::vector<GpuNode>& devices);

}  // namespace sandbox
