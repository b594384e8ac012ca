#include "runner/web/plot.h"

#include <algorithm>

namespace runner::web {

Svg history_plot(const std::string& name, const std::vector<HistoryPoint>& points) {
  double low = 1;
  double high = 1;
  std::vector<double> ratios;
  for (const HistoryPoint& point : points) {
    low = std::min(low, point.low);
    high = std::max(high, point.high);
    ratios.push_back(point.ratio);
  }
  RatioPlot plot(low, high);
  plot.title(name + " over promoted commits, relative to the first base");
  plot.rule(1, RatioPlot::Rule::axis);
  plot.mark(1);
  if (!points.empty() && plot.is_apart_from_one(points.back().ratio))
    plot.mark(points.back().ratio);
  plot.path(ratios);
  for (std::size_t i = 0; i < points.size(); ++i) {
    plot.interval(i, points.size(), points[i].low, points[i].high);
    plot.point(i, points.size(), points[i].ratio, points[i].label);
  }
  if (!points.empty()) plot.captions(points.front().label, points.back().label);
  return plot.take();
}

}  // namespace runner::web
