// Cgroups behind one interface: v2, v1 and hybrid (man 7 cgroups).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/limits.h"

namespace sandbox {

// Which hierarchies of this machine carry what.
enum class CgroupLayout : std::uint8_t { v2, v1, hybrid, none };

// Finds the mounted hierarchies and this process's own groups in them.
class CgroupHost {
 public:
  static os::Result<CgroupHost> detect();
  CgroupLayout layout() const;
  // "hybrid: memory, pids, cpu … on v1, kill and freeze on v2"
  std::string describe() const;
  // Removes every group whose first component begins with `prefix`, after killing what is in it.
  os::Result<int> sweep(const std::string& prefix) const;
  // Groups with that prefix that exist now, in any hierarchy (for leftovers tests).
  os::Result<std::vector<std::string>> list(const std::string& prefix) const;

  struct Hierarchy {
    std::string controllers;  // "memory", "pids", "unified"
    std::string mount;        // path of its root as seen by this process
    std::string own;          // our own group below it, "/" for the root
  };
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
  std::int64_t pids_denied = 0;   // forks refused by the limit
  std::int64_t oom_kills = 0;     // processes killed by the memory limit
  std::int64_t read_bytes = 0;
  std::int64_t written_bytes = 0;
};

// One group in every hierarchy at the same relative path. Move-only; the destructor kills what is
// in it and removes it.
class Cgroup {
 public:
  // Makes `path` ("proofhouse-ab12cd34/att/run") and its parents. conflict if it exists.
  static os::Result<Cgroup> create(const CgroupHost& host, const std::string& path);

  Cgroup(Cgroup&&) noexcept;
  Cgroup& operator=(Cgroup&&) noexcept;
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();

  // Writes memory (+ swap 0), pids, CPU quota and cpuset; denies devices but the usual six.
  // Names what the layout cannot enforce.
  os::Result<std::vector<std::string>> apply(const Limits& limits, const std::vector<int>& cpus);
  // Descriptors into which a child writes "0" to join (cgroup.procs of each hierarchy).
  os::Result<std::vector<os::Fd>> join_descriptors() const;
  os::Result<CgroupStats> stats() const;
  // Number of processes in it now (threads not counted).
  os::Result<std::int64_t> population() const;
  // user + system time so far, in microseconds (for the idle clock).
  os::Result<std::int64_t> cpu_time_us() const;
  // Kills every process in it and waits until it is empty (freezer + SIGKILL loop on v1,
  // cgroup.kill on v2); returns how many were killed. timeout after `limit`.
  os::Result<std::int64_t> kill_all(std::chrono::milliseconds limit = std::chrono::seconds(10));
  // Postcondition: no group of this path exists in any hierarchy.
  os::Result<void> remove();
  const std::string& path() const { return path_; }

 private:
  Cgroup() = default;
  std::string path_;
  struct Group {
    std::string controllers;
    os::Fd directory;
    std::string full_path;
  };
  std::vector<Group> groups_;
};

}  // namespace sandbox
