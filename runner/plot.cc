#include "runner/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sandbox/os/escape.h"

namespace runner {
namespace {

constexpr double kLeft = 56;
constexpr double kRight = 12;
constexpr double kTop = 12;
constexpr double kBottom = 26;
constexpr double kCaptionY = 164;
// Room beyond the outermost ratios, as a share of the axis, and at least.
constexpr double kRoom = 0.08;
constexpr double kLeastRoom = 0.005;
constexpr double kLabelHeight = 14;

constexpr std::string_view kPointColour = "#0969da";

std::string percent_text(double ratio) {
  const double value = (ratio - 1) * 100;
  return fmt::format("{}{:.{}f} %", value >= 0 ? "+" : "", value, std::abs(value) < 10 ? 1 : 0);
}

double x_of(std::size_t index, std::size_t count) {
  const double step =
      (RatioPlot::kWidth - kLeft - kRight) / static_cast<double>(std::max<std::size_t>(count, 1));
  return kLeft + (static_cast<double>(index) + 0.5) * step;
}

// Class and colours of a rule.
std::string_view attributes_of(RatioPlot::Rule kind) {
  switch (kind) {
    case RatioPlot::Rule::axis:
      return R"(class="axis" stroke="#57606a")";
    case RatioPlot::Rule::limit:
      return R"(class="limit" stroke="#a11420" stroke-dasharray="6 4")";
    case RatioPlot::Rule::estimate:
      break;
  }
  return R"(class="estimate" stroke="#0969da")";
}

}  // namespace

RatioPlot::RatioPlot(double low, double high) {
  const double room = std::max((std::log(high) - std::log(low)) * kRoom, kLeastRoom);
  low_ = std::log(low) - room;
  high_ = std::log(high) + room;
}

double RatioPlot::y(double ratio) const {
  const double share = (std::log(ratio) - low_) / (high_ - low_);
  return kHeight - kBottom - std::clamp(share, 0.0, 1.0) * (kHeight - kTop - kBottom);
}

void RatioPlot::title(std::string_view words) { title_ = os::escape_markup(words); }

void RatioPlot::band(double low, double high) {
  const double top = y(high);
  elements_ +=
      fmt::format(R"(<rect class="band" fill="#e9edf2" x="{:.0f}" y="{:.1f}" width="{:.0f}" )"
                  R"(height="{:.1f}"/>)",
                  kLeft, top, kWidth - kLeft - kRight, std::max(y(low) - top, 0.5));
}

void RatioPlot::rule(double ratio, Rule kind) {
  elements_ += fmt::format(R"(<line {} x1="{:.0f}" x2="{:.0f}" y1="{:.1f}" y2="{:.1f}"/>)",
                           attributes_of(kind), kLeft, kWidth - kRight, y(ratio), y(ratio));
}

void RatioPlot::mark(double ratio) {
  elements_ += fmt::format(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6,
                           y(ratio) + 4, percent_text(ratio));
}

void RatioPlot::point(std::size_t index, std::size_t count, double ratio, std::string_view words) {
  const double x = x_of(index, count);
  const double at = y(ratio);
  const std::string told = "<title>" + os::escape_markup(words) + "</title>";
  const double logarithm = std::log(ratio);
  if (logarithm >= low_ && logarithm <= high_) {
    elements_ += fmt::format(R"(<circle fill="{}" cx="{:.1f}" cy="{:.1f}" r="3">{}</circle>)",
                             kPointColour, x, at, told);
    return;
  }
  const double foot = logarithm > high_ ? at + 6 : at - 6;
  elements_ += fmt::format(R"(<path class="outside" fill="{}" )"
                           R"(d="M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z">{}</path>)",
                           kPointColour, x, at, x - 4, foot, x + 4, foot, told);
}

void RatioPlot::vertical(double x, double low, double high) {
  elements_ +=
      fmt::format(R"(<line class="interval" stroke="{}" stroke-width="4" stroke-opacity="0.6" )"
                  R"(x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)",
                  kPointColour, x, x, y(low), y(high));
}

void RatioPlot::interval(std::size_t index, std::size_t count, double low, double high) {
  vertical(x_of(index, count), low, high);
}

void RatioPlot::interval_at_edge(double low, double high) {
  vertical(kWidth - kRight - 4, low, high);
}

void RatioPlot::path(const std::vector<double>& ratios) {
  elements_ +=
      fmt::format(R"(<polyline class="path" fill="none" stroke="{}" points=")", kPointColour);
  for (std::size_t i = 0; i < ratios.size(); ++i)
    elements_ += fmt::format("{:.1f},{:.1f} ", x_of(i, ratios.size()), y(ratios[i]));
  elements_ += "\"/>";
}

void RatioPlot::captions(std::string_view left, std::string_view right) {
  elements_ += fmt::format(R"(<text x="{:.0f}" y="{:.0f}">{}</text>)"
                           R"(<text x="{:.0f}" y="{:.0f}" text-anchor="end">{}</text>)",
                           kLeft, kCaptionY, os::escape_markup(left), kWidth - kRight, kCaptionY,
                           os::escape_markup(right));
}

Svg RatioPlot::take() {
  return Svg(fmt::format(R"(<svg class="plot" role="img" width="{0:.0f}" height="{1:.0f}" )"
                         R"(viewBox="0 0 {0:.0f} {1:.0f}" font-size="12" aria-label="{2}">)"
                         R"(<title>{2}</title>{3}</svg>)",
                         kWidth, kHeight, title_, std::exchange(elements_, {})));
}

bool RatioPlot::is_apart_from_one(double ratio) const {
  return std::abs(y(ratio) - y(1)) > kLabelHeight;
}

}  // namespace runner
