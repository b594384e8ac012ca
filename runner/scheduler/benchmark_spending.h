// Spending: what the benchmark gates of a task may spend of their error rates, and what they spent.
#pragma once

#include "gates/verdict.h"
#include "runner/store/records.h"
#include "runner/store/sqlite.h"
#include "tasks/plan.h"
#include "tasks/policy.h"

namespace runner {

// Every so many tests of a gate of a project begin with a calibration, the first too.
inline constexpr int kCalibrationEvery = 20;

// Sets earlier_tests and calibrates of an attempt's plan from the ledger, and enters the task's
// benchmark gates into it as not passed.
os::Result<void> plan_spending(store::Database& database, const store::TaskRow& task,
                               const tasks::Policy& policy, tasks::Plan& plan);

// Writes down whether the benchmark gates of a judged task passed. A gate that was not run, or
// that failed for another reason than its figures, tested nothing: its entry is taken back.
os::Result<void> record_spending(store::Database& database, const store::TaskRow& task,
                                 const gates::Judgement& judgement);

}  // namespace runner
