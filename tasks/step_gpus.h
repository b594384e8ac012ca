// StepGpus: the GPUs of an attempt's steps, leased when a run starts and given back when it ended.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "sandbox/gpu/desk.h"
#include "sandbox/request.h"
#include "tasks/event_log.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace tasks {

// Not thread-safe.
class StepGpus {
 public:
  // Borrowed, both must outlive it. `cancel_fd`: readable: wait no more; -1: none.
  StepGpus(sandbox::gpu::DeskClient& desk, EventLog& events, int cancel_fd)
      : desk_(desk), events_(events), cancel_fd_(cancel_fd) {}

  // Waits until the run has the GPUs that its step asks for, and puts them into the request and the
  // record; nothing for a step that asks for none. The runs of a pair get the GPUs of the first
  // pair of their step: another GPU would be another benchmark. Gives how long it waited, which
  // is no part of any limit. cancelled; timeout: all waits of the attempt together are kMostGpuWait
  // at most; unavailable: nobody leases here, or a comparison's GPU has left service.
  os::Result<std::chrono::milliseconds> lease(const Step& step, sandbox::RunRequest& request,
                                              RunRecord& record);

  // Ends the run's lease, if it has one, and records what the GPUs did. unavailable: the hardware
  // failed meanwhile, so the run is worth nothing.
  os::Result<void> end(RunRecord& record);

 private:
  sandbox::gpu::DeskClient& desk_;
  EventLog& events_;
  int cancel_fd_;
  std::chrono::milliseconds wait_left_ = kMostGpuWait;
  std::map<StepName, std::vector<std::string>> compared_on_;  // UUIDs
};

}  // namespace tasks
