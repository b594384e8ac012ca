// Figures: what a page shows of evidence, computed from it. Values in, values out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gates/benchmark_gate.h"
#include "runner/page_values.h"

namespace runner::web {

// One benchmark of a benchmark gate.
struct Metric {
  gates::BenchmarkSeries series;      // its pairs, as the gate judged them
  double base_ns = 0, change_ns = 0;  // medians over the pairs, per iteration
};

// All benchmarks that the gate compared, by name. Empty before its first look.
std::vector<Metric> benchmark_metrics(const JudgedTask& judged, const tasks::Gate& gate);

// How the tests of the change differ from those of the base, over all plain runs of tests gates.
struct TestDelta {
  std::vector<std::string> failing;  // fail now, and passed or were not there on the base
  std::vector<std::string> fixed;    // pass now, and failed on the base
  std::vector<std::string> broken;   // fail on both
  std::vector<std::string> added;    // pass, and the base does not have them
  std::vector<std::string> gone;     // the base has them, and they did not run now
  std::vector<std::string> skipped;  // skipped now, and ran on the base
  std::vector<std::string> flaky;    // passed only when its own runner tried again
  std::int64_t passed = 0;
  bool is_empty = true;  // no tests were reported
};
TestDelta test_delta(const JudgedTask& judged);

}  // namespace runner::web
