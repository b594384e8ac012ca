// Options: what an operator says about GPUs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace sandbox::gpu {

// Where GPUs are found and which of them are offered.
struct InventoryOptions {
  std::string nvml;  // NVIDIA's management library; empty: libnvidia-ml.so.1 as the loader finds it
  std::vector<std::string> cdi{"/etc/cdi", "/var/run/cdi"};  // files and directories
  std::string devices = "/dev";                              // where the device nodes lie
  std::vector<std::string> allow;                            // UUIDs; empty: all
  bool operator==(const InventoryOptions&) const = default;
};

// How GPUs are leased.
struct PoolOptions {
  InventoryOptions inventory;
  std::string book = "/var/lib/proofhouse-gpus";  // directory of the machine's book of leases
  std::string scrub;            // program that clears a GPU's memory; empty: memory is not scrubbed
  std::string burn_in;          // program that tests a GPU; empty: only an operator brings one back
  bool may_skip_scrub = false;  // the gap gpu_scrub is allowed: without `scrub` nothing is leased
  std::chrono::milliseconds leftover_limit{10'000};  // until nothing of the last user is left
  std::chrono::milliseconds scrub_limit{120'000};
  std::chrono::milliseconds burn_in_limit{900'000};
  std::chrono::milliseconds burn_in_pause{60'000};  // after a failed one, doubled each time
  std::chrono::milliseconds sample{100};
  bool operator==(const PoolOptions&) const = default;
};

}  // namespace sandbox::gpu
