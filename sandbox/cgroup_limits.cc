#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sandbox/ablation.h"
#include "sandbox/cgroup.h"
#include "sandbox/cgroup_files.h"

namespace sandbox {
namespace {

constexpr std::int64_t kPeriodUs = 100'000;  // the kernel's own default for CPU quotas

// Writes the memory limit and closes the way to swap. False: swap exists and cannot be limited.
os::Result<bool> limit_memory_v1(int directory, os::Bytes memory) {
  const std::string bytes = std::to_string(memory.count);
  // memsw may never be under the limit: on the way down it comes second.
  TRY(write_group_file(directory, "memory.limit_in_bytes", bytes));
  if (!has_group_file(directory, "memory.memsw.limit_in_bytes")) return false;
  TRY(write_group_file(directory, "memory.memsw.limit_in_bytes", bytes));
  return true;
}

os::Result<bool> limit_memory_v2(int directory, os::Bytes memory) {
  TRY(write_group_file(directory, "memory.max", std::to_string(memory.count)));
  if (has_group_file(directory, "memory.oom.group"))
    TRY(write_group_file(directory, "memory.oom.group", "1"));
  if (!has_group_file(directory, "memory.swap.max")) return false;
  TRY(write_group_file(directory, "memory.swap.max", "0"));
  return true;
}

os::Result<void> limit_cpu(int directory, bool unified, int cpus) {
  const std::int64_t quota = kPeriodUs * cpus;
  if (unified)
    return write_group_file(directory, "cpu.max", fmt::format("{} {}", quota, kPeriodUs));
  TRY(write_group_file(directory, "cpu.cfs_period_us", std::to_string(kPeriodUs)));
  return write_group_file(directory, "cpu.cfs_quota_us", std::to_string(quota));
}

// v1: everything is denied, then the usual six are allowed again, but not to be made (mknod).
os::Result<void> deny_devices_v1(int directory, const std::vector<GpuNode>& devices) {
  TRY(write_group_file(directory, "devices.deny", "a"));
  for (const std::string_view device : {"1:3", "1:5", "1:7", "1:8", "1:9", "5:0"})
    TRY(write_group_file(directory, "devices.allow", fmt::format("c {} rw", device)));
  for (const GpuNode& device : devices)
    TRY(write_group_file(directory, "devices.allow",
                         fmt::format("c {}:{} rw", device.major_number, device.minor_number)));
  return {};
}

bool has_swap() {
  const os::Result<os::Fd> directory = open_group("/proc");
  const os::Result<std::string> swaps =
      directory ? read_group_file(directory->get(), "swaps") : os::Result<std::string>();
  // The first line is a heading.
  return !swaps || std::ranges::count(*swaps, '\n') > 1;
}

// Sums "<device> rbytes=N wbytes=M" (v2) or "<device> Read N" (v1) over all devices.
std::int64_t sum_after(std::string_view text, std::string_view key) {
  std::int64_t sum = 0;
  for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    at += key.size();
    std::int64_t number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    sum += number;
  }
  return sum;
}

}  // namespace

os::Result<std::vector<std::string>> Cgroup::apply(const Limits& limits,
                                                   const std::vector<int>& cpus,
                                                   const std::vector<GpuNode>& devices) {
  std::vector<std::string> gaps;
  const Group* const memory = find("memory");
  if (memory != nullptr && !is_left_out(Layer::memory_limit)) {
    const int directory = memory->directory.get();
    const bool without_swap = memory->hierarchy.is_unified()
                                  ? TRY(limit_memory_v2(directory, limits.memory))
                                  : TRY(limit_memory_v1(directory, limits.memory));
    if (!without_swap && has_swap()) gaps.emplace_back("cgroup_swap");
  } else if (memory == nullptr) {
    gaps.emplace_back("cgroup_memory");
  }
  const std::int64_t pids = is_left_out(Layer::pids_limit) ? 4096 : limits.pids;
  const int quota = is_left_out(Layer::cpu_quota) ? 1000 : limits.cpus;
  if (const Group* group = find("pids"))
    TRY(write_group_file(group->directory.get(), "pids.max", std::to_string(pids)));
  else
    gaps.emplace_back("cgroup_pids");
  if (const Group* group = find("cpu"))
    TRY(limit_cpu(group->directory.get(), group->hierarchy.is_unified(), quota));
  else
    gaps.emplace_back("cgroup_cpu");
  if (const Group* group = find("cpuset"); group != nullptr && !cpus.empty())
    TRY(write_group_file(group->directory.get(), "cpuset.cpus",
                         fmt::format("{}", fmt::join(cpus, ","))));
  else if (group == nullptr)
    gaps.emplace_back("cgroup_cpuset");
  if (is_left_out(Layer::device_denial)) return gaps;
  if (const Group* v1 = find("devices"))
    TRY(deny_devices_v1(v1->directory.get(), devices));
  else if (const Group* v2 = find("unified"))
    TRY(deny_devices_by_bpf(v2->directory.get(), devices));
  else
    gaps.emplace_back("device_denial");
  return gaps;
}

os::Result<std::int64_t> Cgroup::cpu_time_us() const {
  if (const Group* group = find("unified")) return group_cpu_us(group->directory.get(), true);
  if (const Group* group = find("cpuacct")) return group_cpu_us(group->directory.get(), false);
  return os::fail(os::Code::unavailable, "no cgroup hierarchy counts CPU time");
}

os::Result<CgroupStats> Cgroup::stats() const {
  CgroupStats stats;
  if (const Group* group = find("unified")) {
    stats.user_us = group_counter(group->directory.get(), "cpu.stat", "user_usec");
    stats.sys_us = group_counter(group->directory.get(), "cpu.stat", "system_usec");
  } else if (const Group* account = find("cpuacct")) {
    stats.user_us = group_number(account->directory.get(), "cpuacct.usage_user") / 1000;
    stats.sys_us = group_number(account->directory.get(), "cpuacct.usage_sys") / 1000;
  }
  if (const Group* group = find("memory")) {
    const int directory = group->directory.get();
    const bool unified = group->hierarchy.is_unified();
    // memory.peak came with Linux 5.19.
    stats.memory_peak =
        unified ? group_number(directory, "memory.peak", group_number(directory, "memory.current"))
                : group_number(directory, "memory.max_usage_in_bytes");
    stats.oom_kills =
        group_counter(directory, unified ? "memory.events" : "memory.oom_control", "oom_kill");
  }
  if (const Group* group = find("pids")) {
    stats.pids_peak = group_number(group->directory.get(), "pids.peak");
    stats.pids_denied = group_counter(group->directory.get(), "pids.events", "max");
  }
  const Group* v2 = find("io");
  if (const Group* group = v2 != nullptr ? v2 : find("blkio")) {
    const os::Result<std::string> text =
        read_group_file(group->directory.get(),
                        v2 != nullptr ? "io.stat" : "blkio.throttle.io_service_bytes_recursive");
    if (text) {
      stats.read_bytes = sum_after(*text, v2 != nullptr ? " rbytes=" : " Read ");
      stats.written_bytes = sum_after(*text, v2 != nullptr ? " wbytes=" : " Write ");
    }
  }
  return stats;
}

}  // namespace sandbox
