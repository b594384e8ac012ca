// Plots of what a benchmark gate measured: every pair, the interval, and the margins.
#pragma once

#include <string>
#include <vector>

#include "gates/benchmark_gate.h"
#include "runner/plot.h"
#include "tasks/policy.h"

namespace runner {

// The pairs of one benchmark: pair number from left to right, ratio change / base upwards; the band
// is what the gate takes for noise (a sixth of the tolerance), the dashed line the tolerance, the
// bar at the right edge the interval. An axis shows at least the tolerance and the interval.
Svg pairs_plot(const gates::BenchmarkSeries& series, tasks::Share tolerance);

// One SVG picture, a panel with a headline for each series (at most 60; what is left out is said).
std::string benchmark_plot(const std::vector<gates::BenchmarkSeries>& series,
                           tasks::Share tolerance);

// The same as a table in Markdown.
std::string benchmark_table(const std::vector<gates::BenchmarkSeries>& series);

}  // namespace runner
