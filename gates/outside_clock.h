// OutsideClock: what one call costs, by the jail's own counters. The change's code has no part in
// the figure: the processes that it starts, its threads, its clocks and its reports do not matter.
#pragma once

#include <cstdint>
#include <expected>

#include "gates/benchmark_rows.h"
#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// Two figures of one process with n1 calls and one with n2 on the same inputs:
//   "<step>, each call"  (cost(n2) - cost(n1)) / (n2 - n1): the slope, free of what a start costs
//   "<step>, whole run"  cost(n2) / n2: holds what was moved out of the slope, as work that is done
//                        only where few calls are asked for
// Both in picoseconds; iterations is the number of calls. A slope below a hundredth of the whole
// run is not told from noise, and given as that hundredth.
struct OutsideFigures {
  BenchmarkFigure each_call;
  BenchmarkFigure whole_run;
};
OutsideFigures outside_figures_of(const tasks::CallCounts& calls, std::int64_t fewer_us,
                                  std::int64_t more_us);

// True if the runs of the pair have been made, or one of them failed, so that the others were not.
bool is_pair_complete(const Context& context, const tasks::Gate& gate, tasks::Side other, int pair);

// The figures of one side of a pair that is complete. A problem: a run of the side did not exit
// with 0, or the judge found an answer of the other side wrong; FailureClass::base for runs of the
// base's code that failed by themselves.
std::expected<ProcessFigures, RowProblem> outside_figures(const Context& context,
                                                          const tasks::Gate& gate, tasks::Side side,
                                                          int pair);

// How far figures of an outside clock can be trusted: sealed if every input was drawn after the
// builds of both sides, else out-of-process.
tasks::Assurance outside_assurance(const Context& context, const tasks::Gate& gate,
                                   tasks::Side other);

}  // namespace gates
