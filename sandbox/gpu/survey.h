// Survey: what this machine has of GPUs, for people. Nothing is leased, changed or tested.
#pragma once

#include <string>
#include <vector>

#include "sandbox/gpu/inventory.h"
#include "sandbox/gpu/lease.h"

namespace sandbox::gpu {

struct GpuSurvey {
  std::string driver;  // version
  std::vector<GpuStatus> gpus;
  std::vector<std::string> left_out;  // of the CDI specifications, one line each
};

// Each GPU of an inventory with what the book says of it, in the inventory's order.
std::vector<GpuStatus> gpu_statuses(const Inventory& inventory, std::vector<LeaseRecord> records,
                                    const PoolOptions& options);

// Reads inventory and book as they are now. not_found, unavailable: as Nvml::load; not_found: no
// GPU that the operator allows.
os::Result<GpuSurvey> survey_gpus(const PoolOptions& options);

}  // namespace sandbox::gpu
