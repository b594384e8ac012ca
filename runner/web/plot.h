// Plots as SVG, without script: a table of the same figures stands beside each.
#pragma once

#include <string>
#include <vector>

#include "runner/web/figures.h"
#include "runner/web/html.h"

namespace runner::web {

// Ratios of one benchmark, a point a pair, with the band between the margins of the tolerance and
// the interval of the estimate. `tolerance` in millionths.
Html pairs_plot(const Metric& metric, std::int64_t tolerance);

// A figure over promoted commits: what the change measured against its base each time, chained, so
// that the machine's own drift between tasks does not show. Labels are short commit ids.
struct HistoryPoint {
  std::string label, task;
  double ratio = 1;          // to the first point
  double low = 1, high = 1;  // interval of this step alone, on the same scale
};
Html history_plot(const std::string& name, const std::vector<HistoryPoint>& points);

}  // namespace runner::web
