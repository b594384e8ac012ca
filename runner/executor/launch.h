// Launch: turns a staged attempt directory into a running attempt with its jail.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runner/executor/living.h"
#include "sandbox/gpu/options.h"

namespace runner {

// What an executor is configured with.
struct ExecutorOptions {
  std::string data;      // data directory
  std::string instance;  // 8 hex digits: names cgroups and records
  std::string programs;  // directory of attempt, jail, ingest, reader
  uid_t serve_uid = 0;   // owner of the data directory
  gid_t serve_gid = 0;
  int socket = -1;          // a connected client, whose end is ours too; -1: none
  std::string socket_path;  // listen here instead
  std::uint32_t first_id = 939'524'096;
  int id_slots = 128;
  std::vector<std::string> gaps_allowed;
  std::vector<std::string> read_only_paths;
  int max_cpus = 0;      // 0: all of the affinity mask
  os::Bytes max_memory;  // 0: 80 % of MemTotal
  sandbox::gpu::PoolOptions gpus;
  std::string version;
};

// What an attempt that may lease GPUs is launched with besides (see gpu_desk.h).
struct DeskSeat {
  os::Fd grants;  // directory of its grants, for the jail
  os::Fd socket;  // for the attempt
  std::vector<sandbox::DriverFile> driver_files;
};

// The cgroup subtree of an attempt, below every hierarchy's root.
std::string attempt_cgroup(const std::string& instance, const tasks::AttemptId& attempt,
                           std::int64_t fence);

// Opens attempts/<attempt>/<fence> beneath the data directory.
os::Result<os::Fd> open_attempt_directory(const ExecutorOptions& options,
                                          const tasks::AttemptId& attempt, std::int64_t fence);

// Takes id ranges, gives the directory to the attempt's uid, starts jail and attempt. Nothing stays
// behind after an error.
os::Result<Living> launch(const ExecutorOptions& options, const AttemptStart& start,
                          const DeskSeat& desk = {});

// True if a process holds the attempt's lock.
bool is_locked(int attempt_directory);

}  // namespace runner
