// Who runs next: a pure function of what waits and what is free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runner {

// A task that waits. `sequence` is the order of admission.
struct Waiting {
  std::string task;
  std::string priority;  // interactive | normal | background
  std::int64_t sequence = 0;
  int cpus = 1;
  std::int64_t memory = 0;  // bytes
  int overtaken = 0;        // how often a later task started while this one did not fit
};

// What may be leased now.
struct Free {
  std::vector<int> cpus;    // host CPU numbers
  std::int64_t memory = 0;  // bytes
};

// A lease to give.
struct Placement {
  std::string task;
  std::vector<int> cpus;
  std::int64_t memory = 0;
  bool operator==(const Placement&) const = default;
};

struct SchedulePlan {
  std::vector<Placement> starts;
  std::vector<std::string> overtaken;  // tasks that did not fit while a later one starts
  bool operator==(const SchedulePlan&) const = default;
};

// A task that was overtaken this often holds everything behind it back until it fits.
inline constexpr int kMaxOvertaken = 8;

// Starts tasks by priority, then by admission. A task that does not fit is passed by those behind
// it, at most kMaxOvertaken times: so small tasks use what is free and large ones never starve.
SchedulePlan plan_starts(std::vector<Waiting> waiting, Free free);

// 0 interactive, 1 normal, 2 background.
int priority_rank(const std::string& priority);

}  // namespace runner
