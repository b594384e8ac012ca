// Limits: what one command may use, and what it used.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/os/units.h"

namespace sandbox {

// Bounds of one command. Zero means "none" only where it is said.
struct Limits {
  int cpus = 1;                             // CPU quota in whole CPUs, and the cpuset's size
  os::Bytes memory{2ULL << 30U};            // RAM of the command and its tmpfs pages; no swap
  std::int64_t pids = 512;                  // processes and threads
  os::Bytes disk{1ULL << 30U};              // bytes of the writable layer (tmpfs)
  std::int64_t inodes = 200'000;            // files of the writable layer
  os::Bytes shm{64ULL << 20U};              // size of /dev/shm; /tmp has the same size as disk
  std::int64_t files = 1024;                // open files a process (RLIMIT_NOFILE)
  std::chrono::milliseconds wall{600'000};  // from start to forced end
  std::chrono::milliseconds idle{300'000};  // neither output nor CPU time; 0: none
  std::chrono::milliseconds cpu_time{0};    // user + system of the whole run; 0: none
  os::Bytes keep{1ULL << 20U};              // output kept: first and last half
  os::Bytes output{16ULL << 20U};           // output at which the command is killed

  bool operator==(const Limits&) const = default;
};

// A bound that was reached. A command need not have ended by it (fork: EAGAIN, write: ENOSPC).
struct LimitHit {
  std::string limit;        // memory, pids, disk, shm, inodes, output, wall, idle, cpu
  std::int64_t figure = 0;  // what was reached (bytes, count or milliseconds)
  std::int64_t bound = 0;   // the bound, in the same unit

  bool operator==(const LimitHit&) const = default;
};

// What a run used. GPU figures are added where there is a GPU.
struct Usage {
  std::int64_t wall_ms = 0;
  std::int64_t user_ms = 0;
  std::int64_t sys_ms = 0;
  // The same to the microsecond. The CPU time is the group's own counter of all its processes and
  // threads; user_ms and sys_ms may come from ticks, by which a kernel splits it.
  std::int64_t wall_us = 0;
  std::int64_t cpu_us = 0;
  std::int64_t memory_peak = 0;    // bytes
  std::int64_t pids_peak = 0;      // 0 where the kernel does not tell
  std::int64_t read_bytes = 0;     // block I/O
  std::int64_t written_bytes = 0;  // block I/O
  std::int64_t left_behind = 0;    // processes that outlived the command and were killed

  bool operator==(const Usage&) const = default;
};

}  // namespace sandbox
