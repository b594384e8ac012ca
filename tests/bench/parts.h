// The parts of the sandbox's benchmark beside the latency of an empty command.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/series.h"

namespace bench {

struct Options {
  int rounds = 100;  // of a run
  int runs = 3;
  int seconds = 5;     // of each loop measured
  std::string prefix;  // begins the names of our cgroups
  std::string json = "build/bench/sandbox.json";
};

// 32 loops at once: runs a second of posix_spawn, ours, bubblewrap. Prints them.
os::Result<void> measure_throughput(const Options& options);

// What an idle prewarmed sandbox holds: memory charged to its group, and what the whole machine
// has less. Prints it.
os::Result<void> measure_memory(const Options& options);

// Ready workspaces over trees of three sizes, beside git worktree and cp -al. Prints a table.
os::Result<std::vector<Series>> measure_workspaces(const Options& options);

// Empty attempts, without and with one empty step. Prints a table.
os::Result<std::vector<Series>> measure_attempts(const Options& options);

}  // namespace bench
