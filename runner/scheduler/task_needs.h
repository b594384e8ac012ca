// What an attempt of a task needs of the machine. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/executor/executor.h"
#include "runner/store/records.h"
#include "tasks/policy.h"

namespace runner {

// The steps that will run: those asked for with all that they need, or all of the policy.
std::vector<const tasks::Step*> steps_to_run(const tasks::Policy& policy,
                                             const std::vector<std::string>& asked);

// Fills cpus, memory and total_ms of `task` by its policy: the largest step, and what the
// workspaces keep in memory. unsatisfiable is answered as `invalid`, naming what the machine lacks:
// GPUs, CPUs, memory.
os::Result<void> fill_needs(store::TaskRow& task, const tasks::Policy& policy,
                            const ExecutorProbe& probe);

}  // namespace runner
