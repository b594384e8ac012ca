// Flaky: how often tests pass, over the first run of a step and its reruns.
#pragma once

#include <optional>
#include <string>

#include "gates/runs.h"
#include "tasks/evidence.h"

namespace gates {

// Of one test on one side. A run that left no readable report, or a report without the test, counts
// as one in which it did not pass.
struct PassRate {
  int passed = 0;
  int runs = 0;  // 0: there is no run, or the first one does not have the test

  bool is_always() const { return runs > 0 && passed == runs; }
};
PassRate pass_rate(const Context& context, const tasks::RunKey& first, const std::string& id);

// "2 of 4 runs"
std::string rate_text(const PassRate& rate);

// The first of `budget` reruns of `first` that has not been made.
std::optional<tasks::RunKey> missing_rerun(const Context& context, const tasks::RunKey& first,
                                           int budget);

}  // namespace gates
