// Collect: copies what a command left, after every process of it is dead.
#pragma once

#include <vector>

#include "sandbox/jail/output.h"
#include "sandbox/request.h"

namespace sandbox::jail {

// The places that paths are relative to; -1: the run has none.
struct CollectSources {
  int workspace = -1;
  int out = -1;
};

// Copies each into "collected/<name>" below the run's directory. What is missing, a link, a special
// file or too large becomes the `error` of its Collected, never an error of the jail. `run_path` is
// the run's directory relative to the attempt's.
os::Result<std::vector<Collected>> collect(const std::vector<Collect>& wanted,
                                           const CollectSources& sources, int run_directory,
                                           const std::string& run_path, FileOwner owner);

// Removes each path below `workspace` if it is there, never following a link.
os::Result<void> clear_paths(int workspace, const std::vector<std::string>& paths);

}  // namespace sandbox::jail
