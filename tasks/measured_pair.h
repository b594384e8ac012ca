// MeasuredPair: which runs a pair of an outside clock is made of. Values only; what executes them
// is attempt.h, what judges them gates/outside_clock.h.
#pragma once

#include <vector>

#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace tasks {

// The `from: base` steps around a measured step, each before what needs it. Those that are needed
// for order alone (a judge that is compiled) are in none of the lists: they run once, plainly.
struct MeasuredSteps {
  std::vector<StepName> before;   // make inputs or expectations, of a seed of the pair's own
  std::vector<StepName> after;    // see outputs of the measured step
  std::vector<StepName> order;    // those left out: must have run before the first pair
  bool is_fed_by_change = false;  // an input depends on what the change printed or wrote
};

// The steps around `step`, a step of the change. Every step of `after` is either a judge (it has a
// report of tests) or needed by one.
MeasuredSteps measured_steps(const Policy& policy, const StepName& step);

// The runs of pair number `pair` of `step` that belong to the judge, for the code of `other`.
RunKey judge_key(const StepName& step, Side other, int pair);

// The run of the measured step on `side`; `leg` 0: with the fewer calls, 1: with the more.
RunKey leg_key(const StepName& step, Side side, int pair, int leg);

// The runs whose output the step of `key` may be shown for `need`: the first of them that was made.
// What belongs to a pair of an outside clock sees what was made for that pair (on the base's side
// too: both get the same inputs); what was built anew sees what was built anew with it; all else
// has run once, plainly.
std::vector<RunKey> sources_of(const Policy& policy, const RunKey& key, const Need& need);

// $PROOFHOUSE_CALLS of a run: the count of its leg for the measured step itself, else the larger
// count; for a `from: base` step the largest of the steps that it feeds or sees. 0: the run has no
// such variable.
int calls_of(const Policy& policy, const RunKey& key);

}  // namespace tasks
