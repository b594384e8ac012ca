// The gates' door: what to run next, and the judgement. Pure functions of (policy, evidence): they
// execute nothing, read no clock and draw no random number, so judging again gives the same bytes.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

// Run one step once.
struct NextRun {
  tasks::RunKey key;
  bool operator==(const NextRun&) const = default;
};

// Run one step on base and on `other` (change, or mixed if guarded files are touched), adjacent, in
// an order that the caller draws at random: pair number `pair`.
struct NextPair {
  tasks::StepName step;
  tasks::Side other = tasks::Side::change;
  int pair = 0;
  tasks::Variant variant = tasks::Variant::plain;
  std::vector<std::string> only;  // benchmarks that are undecided; empty: all
  // An outside clock: not one run a side but the runs of tasks/measured_pair.h.
  tasks::GateClock clock = tasks::GateClock::report;
  bool operator==(const NextPair&) const = default;
};

// Compare outputs of two runs that were made.
struct NextCompare {
  tasks::ComparisonKey key;
  bool operator==(const NextCompare&) const = default;
};

// Nothing more to run: judge.
struct NextNothing {
  bool operator==(const NextNothing&) const = default;
};

using Next = std::variant<NextRun, NextPair, NextCompare, NextNothing>;

// What to run after `evidence so far`, prerequisites included: gates in the file's order, stopping
// at the first failed one (unless `always`). Steps of the change that need no output of a `from:
// base` step come before any `from: base` step, so that a seed is drawn only after the builds. For
// intent run: the asked steps with their needs on the change's side, each once.
Next next(const tasks::Policy& policy, const tasks::Evidence& evidence);

// The verdict on complete evidence (status completed); refused, cancelled and infra are the
// caller's. For intent run: `ran`.
Judgement judge(const tasks::Policy& policy, const tasks::Evidence& evidence);

// True if the step is needed by another step of its side (order need): its writes stay in the
// side's workspace. All others get an empty upper of their own.
bool is_shared(const tasks::Policy& policy, const tasks::StepName& step);

}  // namespace gates
