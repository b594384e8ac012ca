#include "runner/scheduler/task_needs.h"

#include <algorithm>
#include <set>

#include "sandbox/os/units.h"
#include "tasks/reports/report.h"

namespace runner {
namespace {

void add_with_needs(const tasks::Policy& policy, const tasks::StepName& name,
                    std::set<std::string>& names) {
  const tasks::Step* const step = policy.find_step(name);
  if (step == nullptr || !names.insert(name.str()).second) return;
  for (const tasks::Need& need : step->needs) add_with_needs(policy, need.step, names);
}

os::Result<void> check_gpus(const std::vector<const tasks::Step*>& steps,
                            const ExecutorProbe& probe) {
  for (const tasks::Step* step : steps) {
    if (!step->gpu) continue;
    const auto large = std::ranges::count_if(probe.gpus, [&](const sandbox::gpu::GpuStatus& gpu) {
      return gpu.is_usable && gpu.memory >= step->gpu->min_memory;
    });
    if (std::cmp_greater_equal(large, step->gpu->count)) continue;
    std::string text =
        "step '" + step->name.str() + "' asks for " + std::to_string(step->gpu->count) + " GPU";
    if (step->gpu->min_memory.count > 0) text += " of " + os::format_bytes(step->gpu->min_memory);
    text += ", and this machine has " + (large == 0 ? "none" : std::to_string(large));
    const auto unusable = std::ranges::find(probe.gpus, false, &sandbox::gpu::GpuStatus::is_usable);
    const std::string& why = unusable == probe.gpus.end() ? probe.gpu_problem : unusable->reason;
    if (!why.empty()) text += " (" + why + ")";
    return os::fail(os::Code::invalid, text);
  }
  return {};
}

}  // namespace

std::vector<const tasks::Step*> steps_to_run(const tasks::Policy& policy,
                                             const std::vector<std::string>& asked) {
  std::set<std::string> names;
  for (const std::string& name : asked) add_with_needs(policy, tasks::StepName(name), names);
  std::vector<const tasks::Step*> steps;
  for (const tasks::Step& step : policy.steps) {
    if (asked.empty() || names.contains(step.name.str())) steps.push_back(&step);
  }
  return steps;
}

os::Result<void> fill_needs(store::TaskRow& task, const tasks::Policy& policy,
                            const ExecutorProbe& probe) {
  const std::vector<const tasks::Step*> steps = steps_to_run(policy, task.steps);
  TRY(check_gpus(steps, probe));
  int cpus = 1;
  std::uint64_t memory = 0;
  std::uint64_t disk = 0;
  for (const tasks::Step* step : steps) {
    cpus = std::max(cpus, step->limits.cpus);
    // Two that speak with each other run at the same time.
    const tasks::Step* const partner = policy.find_partner(*step);
    memory = std::max(memory, step->limits.memory.count +
                                  (partner == nullptr ? 0 : partner->limits.memory.count));
    disk = std::max(disk, step->limits.disk.count);
    if (!step->reports.empty()) memory = std::max(memory, tasks::kReaderMemory.count);
  }
  if (std::cmp_greater(cpus, probe.cpus.size()))
    return os::fail(os::Code::invalid, "the policy asks for " + std::to_string(cpus) +
                                           " CPUs, and this machine leases " +
                                           std::to_string(probe.cpus.size()));
  if (memory > probe.memory.count)
    return os::fail(os::Code::invalid,
                    "the policy asks for " + os::format_bytes(os::Bytes{memory}) +
                        " of memory, and this machine leases " + os::format_bytes(probe.memory));
  // Workspaces live in memory (sized tmpfs): one of the base, one of the change, one of the mixed
  // tree. Where a machine is too small for all of them full at once, the steps share what there is.
  const std::uint64_t workspaces =
      task.intent == tasks::Intent::run ? 1 : (task.change.mixed_tree ? 3 : 2);
  task.cpus = cpus;
  task.memory = static_cast<std::int64_t>(std::min(memory + workspaces * disk, probe.memory.count));
  task.total_ms = policy.total.count();
  return {};
}

}  // namespace runner
