// GPU tables: what GPUs did, in the same columns on the board and on a task's page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/web/html.h"
#include "sandbox/gpu/lease.h"
#include "tasks/evidence.h"

namespace runner::web {

// What one GPU did for the runs of one step on one side, over all of its leases.
struct GpuShare {
  std::string step, side;
  std::string name;  // of the GPU's model
  std::string uuid;
  std::int64_t leases = 0;
  sandbox::gpu::GpuTelemetry telemetry;  // times and energy: sums; the mean power by time held
  std::string errors;                    // "Xid 13 (2 times), Xid 31"; empty: none
};
// In the order of the runs. Empty where no run had a GPU. Not of runs that were kept from before.
std::vector<GpuShare> gpu_shares(const tasks::Evidence& evidence);

// The part of a task's page; nothing where there are no shares.
Html gpu_shares_table(const std::vector<GpuShare>& shares);

// The part of the board: each GPU, its state and what it does now; nothing without GPUs.
Html gpu_list_table(const std::vector<sandbox::gpu::GpuStatus>& gpus);

}  // namespace runner::web
