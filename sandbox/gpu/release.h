// Release: what is done with a GPU before somebody else gets it. Nothing of the last user may be
// left: no process on it, nothing in its memory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "sandbox/gpu/inventory.h"

namespace sandbox::gpu {

// Names our own programs in `directory` where an operator named none and they were built.
void find_tools(PoolOptions& options, const std::string& directory);

// The gap of a machine where nothing clears a GPU's memory between two users.
inline constexpr const char* kScrubGap = "gpu_scrub";

// Does without what these gaps name.
void allow_gaps(PoolOptions& options, const std::vector<std::string>& gaps);

// Processes that hold one of these device nodes open, by a scan of /proc/<pid>/fd. Ours is not
// among them. Needs root.
std::set<pid_t> node_users(const std::vector<GpuNode>& nodes);

// Processes on the GPU by the library's lists and by the scan, without those that were there before
// the lease (`before`: monitors, the persistence daemon).
os::Result<std::set<pid_t>> leftovers(const Nvml& nvml, const Gpu& gpu,
                                      const std::set<pid_t>& before);

// Waits until nothing is left, at most `limit`: a killed process may take a moment to be gone. The
// reason why the GPU cannot be used; empty: it is empty.
std::string wait_until_empty(const Nvml& nvml, const Gpu& gpu, const std::set<pid_t>& before,
                             std::chrono::milliseconds limit, const std::stop_token& stop);

// Runs one of our GPU programs (scrub, burn_in) on one GPU: it sees the device by
// CUDA_VISIBLE_DEVICES, runs as nobody, and exits with 0 when all is well. Killed after `limit` or
// when a stop is asked for. The reason why it is not well; empty: it is.
std::string run_tool(const std::string& program, const std::string& uuid,
                     std::chrono::milliseconds limit, const std::stop_token& stop);

}  // namespace sandbox::gpu
