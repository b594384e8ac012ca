// Cgroups behind one interface: v2, v1 and hybrid (man 7 cgroups).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/limits.h"
#include "sandbox/os/fd.h"
#include "sandbox/request.h"

namespace sandbox {

// Which hierarchies of this machine carry what.
enum class CgroupLayout : std::uint8_t { v2, v1, hybrid, none };

// Finds the mounted hierarchies and the group of each below which ours are made: the root that this
// process sees, or on v2 its own group where systemd delegated that (trusted.delegate is set).
class CgroupHost {
 public:
  // Reads /proc/self/mountinfo and /proc/self/cgroup.
  static os::Result<CgroupHost> detect();
  // The same from given texts (for tests of layouts that this machine does not have).
  static CgroupHost parse(const std::string& mountinfo, const std::string& own_groups);
  CgroupLayout layout() const;
  // "hybrid: memory, pids, cpu … on v1, kill and freeze on v2"
  std::string describe() const;
  // Removes every group whose first component begins with `prefix`, after killing what is in it.
  os::Result<int> sweep(const std::string& prefix) const;
  // Groups with that prefix that exist now, in any hierarchy (for leftovers tests).
  os::Result<std::vector<std::string>> list(const std::string& prefix) const;

  struct Hierarchy {
    std::string controllers;  // v1: "memory" or "cpu,cpuacct"; v2: "unified,memory,pids" …
    std::string mount;        // path of its root as seen by this process
    std::string base = "/";   // the group below it in which ours are made, "/" for the root

    bool is_unified() const;
    bool has(const std::string& controller) const;
    // Directory of `path` below the base.
    std::string directory(const std::string& path) const;
  };
  // The one that counts and kills first: unified, else that with the freezer, else any.
  const std::vector<Hierarchy>& hierarchies() const { return hierarchies_; }

 private:
  std::vector<Hierarchy> hierarchies_;
};

// Statistics of a group, read before it is removed.
struct CgroupStats {
  std::int64_t user_us = 0;
  std::int64_t sys_us = 0;
  std::int64_t memory_peak = 0;
  std::int64_t pids_peak = 0;
  std::int64_t pids_denied = 0;  // forks refused by the limit
  std::int64_t oom_kills = 0;    // processes killed by the memory limit
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

// One group in every hierarchy at the same relative path. Move-only; the destructor kills what is
// in it and removes it.
class Cgroup {
 public:
  // Makes `path` ("proofhouse-ab12cd34/att/run") and its parents. conflict if it exists. Parents
  // that it made are removed with it when they are empty then.
  static os::Result<Cgroup> create(const CgroupHost& host, const std::string& path);
  // A group that exists, in the hierarchies that have it; not_found where none does.
  static os::Result<Cgroup> open(const CgroupHost& host, const std::string& path);

  Cgroup(Cgroup&&) noexcept;
  Cgroup& operator=(Cgroup&&) noexcept;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  // Writes memory (+ swap 0), pids, CPU quota and cpuset; denies devices but the usual six and
  // `devices`, which may be read and written, never made.
  // Names what the layout cannot enforce: cgroup_memory, cgroup_swap, cgroup_pids, cgroup_cpu,
  // cgroup_cpuset, device_denial. Without `cpus` the parent's are kept.
  os::Result<std::vector<std::string>> apply(const Limits& limits, const std::vector<int>& cpus,
                                             const std::vector<GpuNode>& devices = {});
  // Descriptors into which a child writes "0", in this order, to join (cgroup.procs of each
  // hierarchy). Whoever is in any of the groups is in the first, where processes are counted and
  // killed.
  os::Result<std::vector<os::Fd>> join_descriptors() const;
  os::Result<CgroupStats> stats() const;
  // Number of processes in it and below it now (threads not counted).
  os::Result<std::int64_t> population() const;
  // user + system time so far, in microseconds (for the idle clock).
  os::Result<std::int64_t> cpu_time_us() const;
  // Kills every process in it and below it and waits until it is empty (freezer + SIGKILL loop on
  // v1, cgroup.kill on v2); returns how many were killed. timeout after `limit`.
  os::Result<std::int64_t> kill_all(std::chrono::milliseconds limit = std::chrono::seconds(10));
  // Kills what is left. Postcondition: no group of this path exists in any hierarchy.
  os::Result<void> remove();
  const std::string& path() const { return path_; }

 private:
  struct Group {
    CgroupHost::Hierarchy hierarchy;
    os::Fd directory;
    std::string full_path;
    std::vector<std::string> made;  // parents made for it, outermost first
  };

  Cgroup() = default;
  const Group* find(const std::string& controller) const;
  os::Result<void> make(const CgroupHost::Hierarchy& hierarchy);
  os::Result<void> take(Group group);
  os::Result<void> kill_round() const;

  std::string path_;
  std::vector<Group> groups_;
};

}  // namespace sandbox
