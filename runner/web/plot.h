// The history of a benchmark as SVG, without script: a table of the same figures stands beside it.
#pragma once

#include <string>
#include <vector>

#include "runner/plot.h"

namespace runner::web {

// A figure over promoted commits: what the change measured against its base each time, chained, so
// that the machine's own drift between tasks does not show. Labels are short commit ids.
struct HistoryPoint {
  std::string label, task;
  double ratio = 1;          // to the first point
  double low = 1, high = 1;  // interval of this step alone, on the same scale
};
Svg history_plot(const std::string& name, const std::vector<HistoryPoint>& points);

}  // namespace runner::web
