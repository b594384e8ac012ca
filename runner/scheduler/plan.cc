#include "runner/scheduler/plan.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace runner {

int priority_rank(const std::string& priority) {
  if (priority == "interactive") return 0;
  return priority == "normal" ? 1 : 2;
}

SchedulePlan plan_starts(std::vector<Waiting> waiting, Free free) {
  std::ranges::sort(waiting, {}, [](const Waiting& task) {
    return std::tuple(priority_rank(task.priority), task.sequence);
  });
  SchedulePlan plan;
  std::vector<std::string> passed;
  for (const Waiting& task : waiting) {
    const bool fits =
        std::cmp_less_equal(task.cpus, free.cpus.size()) && task.memory <= free.memory;
    if (!fits) {
      passed.push_back(task.task);
      if (task.overtaken >= kMaxOvertaken) break;
      continue;
    }
    Placement placement{.task = task.task, .cpus = {}, .memory = task.memory};
    placement.cpus.assign(free.cpus.begin(), free.cpus.begin() + task.cpus);
    free.cpus.erase(free.cpus.begin(), free.cpus.begin() + task.cpus);
    free.memory -= task.memory;
    plan.starts.push_back(std::move(placement));
    plan.overtaken = passed;
  }
  return plan;
}

}  // namespace runner
