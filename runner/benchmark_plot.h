// Plots of what a benchmark gate measured: every pair, the interval, and the margins.
#pragma once

#include <string>
#include <vector>

#include "gates/benchmark_gate.h"
#include "tasks/policy.h"

namespace runner {

// One SVG picture, a panel for each series (at most 60; what is left out is said): pair number from
// left to right, ratio change / base upwards on a logarithmic axis, the interval as a band, the
// estimate as a line in it, the tolerance as a dashed line. A pair that lies outside the panel is
// drawn as a triangle at its edge. Names are escaped; no script, style sheet or link.
std::string benchmark_plot(const std::vector<gates::BenchmarkSeries>& series,
                           tasks::Share tolerance);

// The same as a table in Markdown.
std::string benchmark_table(const std::vector<gates::BenchmarkSeries>& series);

}  // namespace runner
