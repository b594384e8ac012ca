#include "runner/web/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace runner::web {
namespace {

constexpr double kWidth = 640;
constexpr double kHeight = 170;
constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 26;

// One decimal: more is not seen, and costs bytes.
std::string number_text(double value, int decimals = 1) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string percent(double ratio) {
  const double value = (ratio - 1) * 100;
  const std::string text = number_text(value, std::abs(value) < 10 ? 1 : 0);
  return (value >= 0 ? "+" : "") + text + " %";
}

// Ratios to pixels, logarithmic.
class Scale {
 public:
  Scale(double low, double high) {
    const double room = std::max((std::log(high) - std::log(low)) * 0.08, 0.005);
    low_ = std::log(low) - room;
    high_ = std::log(high) + room;
  }
  double y(double ratio) const {
    const double share = (std::log(ratio) - low_) / (high_ - low_);
    return kHeight - kBottom - std::clamp(share, 0.0, 1.0) * (kHeight - kTop - kBottom);
  }

 private:
  double low_, high_;
};

double x_of(std::size_t index, std::size_t count) {
  const double step =
      (kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(count, 1));
  return kLeft + (static_cast<double>(index) + 0.5) * step;
}

void open(Html& out, const std::string& title) {
  out << "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 640 170\" aria-label=\"" << title
      << "\"><title>" << title << "</title>";
}

void band(Html& out, const Scale& scale, double low, double high) {
  const double top = scale.y(high);
  out << "<rect class=\"band\" x=\"" << number_text(kLeft) << "\" y=\"" << number_text(top)
      << "\" width=\"" << number_text(kWidth - kLeft - kRight) << "\" height=\""
      << number_text(std::max(scale.y(low) - top, 0.5)) << "\"/>";
}

void rule(Html& out, const Scale& scale, double ratio, Markup kind) {
  const std::string y = number_text(scale.y(ratio));
  out << "<line class=\"" << kind << "\" x1=\"" << number_text(kLeft) << "\" x2=\""
      << number_text(kWidth - kRight) << "\" y1=\"" << y << "\" y2=\"" << y << "\"/>";
}

void mark(Html& out, const Scale& scale, double ratio) {
  out << "<text x=\"" << number_text(kLeft - 6) << "\" y=\"" << number_text(scale.y(ratio) + 4)
      << "\" text-anchor=\"end\">" << percent(ratio) << "</text>";
}

}  // namespace

Html pairs_plot(const Metric& metric, std::int64_t tolerance) {
  const double upper = 1 + static_cast<double>(tolerance) / 1e6;
  const double lower = 1 + static_cast<double>(tolerance) / 6e6;
  double low = 1 / lower;
  double high = upper;
  for (const double ratio : metric.ratios) {
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  const Scale scale(low, high);
  Html out;
  open(out, "Ratio of " + metric.name + " to the base, each of " +
                std::to_string(metric.ratios.size()) + " pairs");
  band(out, scale, 1 / lower, lower);
  rule(out, scale, 1, "axis");
  rule(out, scale, upper, "limit");
  mark(out, scale, 1);
  mark(out, scale, upper);
  for (std::size_t i = 0; i < metric.ratios.size(); ++i)
    out << "<circle cx=\"" << number_text(x_of(i, metric.ratios.size())) << "\" cy=\""
        << number_text(scale.y(metric.ratios[i])) << "\" r=\"3\"/>";
  if (metric.trend.pairs > 0) {
    rule(out, scale, metric.trend.estimate, "estimate");
    const std::string x = number_text(kWidth - kRight - 4);
    out << "<line class=\"interval\" x1=\"" << x << "\" x2=\"" << x << "\" y1=\""
        << number_text(scale.y(metric.trend.low)) << "\" y2=\""
        << number_text(scale.y(metric.trend.high)) << "\"/>";
  }
  out << "<text x=\"" << number_text(kLeft) << "\" y=\"164\">pair 1</text><text x=\""
      << number_text(kWidth - kRight) << "\" y=\"164\" text-anchor=\"end\">pair "
      << metric.ratios.size() << "</text></svg>";
  return out;
}

Html history_plot(const std::string& name, const std::vector<HistoryPoint>& points) {
  double low = 1;
  double high = 1;
  for (const HistoryPoint& point : points) {
    low = std::min(low, point.low);
    high = std::max(high, point.high);
  }
  const Scale scale(low, high);
  Html out;
  open(out, name + " over promoted commits, relative to the first base");
  rule(out, scale, 1, "axis");
  mark(out, scale, 1);
  if (!points.empty() && std::abs(scale.y(points.back().ratio) - scale.y(1)) > 14)
    mark(out, scale, points.back().ratio);
  out << "<polyline class=\"path\" points=\"";
  for (std::size_t i = 0; i < points.size(); ++i)
    out << number_text(x_of(i, points.size())) << "," << number_text(scale.y(points[i].ratio))
        << " ";
  out << "\"/>";
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string x = number_text(x_of(i, points.size()));
    out << "<line class=\"interval\" x1=\"" << x << "\" x2=\"" << x << "\" y1=\""
        << number_text(scale.y(points[i].low)) << "\" y2=\"" << number_text(scale.y(points[i].high))
        << "\"/><circle cx=\"" << x << "\" cy=\"" << number_text(scale.y(points[i].ratio))
        << "\" r=\"3\"/>";
  }
  if (!points.empty())
    out << "<text x=\"" << number_text(kLeft) << "\" y=\"164\">" << points.front().label
        << "</text><text x=\"" << number_text(kWidth - kRight)
        << "\" y=\"164\" text-anchor=\"end\">" << points.back().label << "</text>";
  out << "</svg>";
  return out;
}

}  // namespace runner::web
