// Calibration: the base against itself, which says how well a machine can tell anything apart.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gates/benchmark_rows.h"
#include "gates/runs.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

// Pairs of base and base.
inline constexpr int kCalibrationPairs = 8;

struct Calibration {
  std::optional<tasks::RunKey> next;  // a run that is missing
  std::optional<RowProblem> problem;  // of the base
  std::string run;                    // where
  std::vector<Reason> reasons;        // one a benchmark: spread and smallest detectable effect
  // False: with the most pairs a gate asks for, not even twice the tolerance would be found, and
  // the policy does not accept that.
  bool is_armed = true;
};

// What the calibration runs of `step` say so far.
Calibration calibrate_base(const Context& context, const tasks::Gate& gate,
                           const tasks::Step& step);

// The greater figure of both runs, by name.
std::map<std::string, std::int64_t> disturbances_of(const tasks::RunRecord& left,
                                                    const tasks::RunRecord& right);

}  // namespace gates
