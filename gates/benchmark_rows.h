// Rows: what one process of a benchmark reported, held against what the jail saw it use.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>

#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"
#include "tasks/reports/report.h"

namespace gates {

// One benchmark in one process.
struct BenchmarkFigure {
  tasks::BenchClock clock = tasks::BenchClock::cpu;
  std::int64_t picoseconds = 0;  // the least of its repetitions
  std::int64_t iterations = 0;   // of that repetition
  std::int64_t repetitions = 0;
  bool operator==(const BenchmarkFigure&) const = default;
};

struct ProcessFigures {
  std::map<std::string, BenchmarkFigure> benchmarks;  // by name
  // CPU time that the rows account for, over the CPU time that the process used; nothing where it
  // cannot be told (other clocks, threads, too short a process).
  std::optional<double> cpu_share;
  std::int64_t processes = 0;  // most processes and threads at a time; 0: not known
};

// Why the rows of a process cannot be used.
struct RowProblem {
  FailureClass failure = FailureClass::benchmark;  // limit, report, benchmark or infra
  std::string text;                                // "BM_Dot stands twice in bench.json"
  std::string where;                               // benchmark or step
};

// Reads the Google Benchmark reports of a run. A problem: it did not exit with 0, a report is
// missing or unreadable, there is no row, a row has an error or a time that is not positive, or one
// that no clock can tell (a single iteration below 1 us), a name has two clocks or one repetition
// twice, or the rows account for more CPU time than the process used, or for more real time than
// it lasted. That bound is 1.05 plus 20 ms: measured over 602 honest processes the share was at
// most 0.80, because calibration is not in the rows; the slack is for the resolution of the
// counters.
std::expected<ProcessFigures, RowProblem> read_figures(const tasks::Step& step,
                                                       const tasks::RunRecord& record);

// How the names of `other` differ from those of `base` in a way that makes comparing wrong: gone,
// another clock, another number of repetitions. New names are no problem.
std::optional<RowProblem> compare_names(const ProcessFigures& base, const ProcessFigures& other);

}  // namespace gates
