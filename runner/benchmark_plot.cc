#include "runner/benchmark_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gates/text.h"
#include "runner/task_report.h"

namespace runner {
namespace {

constexpr std::size_t kPanels = 60;
constexpr double kWidth = 720;
constexpr double kPanelHeight = 132;
constexpr double kLeft = 64;
constexpr double kRight = 12;
constexpr double kTop = 26;
constexpr double kBottom = 12;
// The panel shows at least the tolerance on both sides, and so many spreads.
constexpr double kSpreadsShown = 4;
constexpr double kNarrowest = 0.005;

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char c : gates::one_line(text, 120)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string_view trend_word(gates::Trend trend) {
  switch (trend) {
    case gates::Trend::passed:
      return "passed";
    case gates::Trend::regressed:
      return "slower";
    case gates::Trend::undecided:
      break;
  }
  return "undecided";
}

std::string_view trend_colour(gates::Trend trend) {
  switch (trend) {
    case gates::Trend::passed:
      return "#1a7f37";
    case gates::Trend::regressed:
      return "#cf222e";
    case gates::Trend::undecided:
      break;
  }
  return "#9a6700";
}

// One panel; its top edge is at `top`.
class Panel {
 public:
  Panel(const gates::BenchmarkSeries& series, double tolerance, double top)
      : series_(series), tolerance_(tolerance), top_(top) {
    half_ = std::max({kNarrowest, 1.3 * tolerance, kSpreadsShown * series.result.spread});
    if (series.result.pairs > 0) {
      half_ = std::max({half_, 1.1 * std::abs(std::log(series.result.low)),
                        1.1 * std::abs(std::log(series.result.high))});
    }
  }

  void draw(std::string& svg) const {
    const std::string_view colour = trend_colour(series_.result.trend);
    svg += fmt::format(
        R"(<text x="4" y="{:.1f}" font-weight="bold">{}</text>)", top_ + 15,
        escape_xml(fmt::format("{}: {:.3f}x ({:.3f} to {:.3f}), {} pairs, {}", series_.name,
                               series_.result.estimate, series_.result.low, series_.result.high,
                               series_.result.pairs, trend_word(series_.result.trend))));
    svg += "\n";
    if (series_.result.pairs > 0) {
      const double high = y(std::log(series_.result.high));
      const double low = y(std::log(series_.result.low));
      svg += fmt::format(R"(<rect x="{}" y="{:.1f}" width="{}" height="{:.1f}" fill="{}" )"
                         R"(fill-opacity="0.15"/>)",
                         kLeft, high, kWidth - kLeft - kRight, std::max(1.0, low - high), colour);
      line(svg, std::log(series_.result.estimate), colour, "");
    }
    line(svg, 0, "#57606a", "");
    line(svg, tolerance_, "#57606a", R"( stroke-dasharray="5 4")");
    label(svg, 0, "1.000x");
    label(svg, tolerance_, fmt::format("{:.3f}x", std::exp(tolerance_)));
    points(svg);
  }

 private:
  double y(double value) const {
    const double share = (std::clamp(value, -half_, half_) + half_) / (2 * half_);
    return top_ + kPanelHeight - kBottom - share * (kPanelHeight - kTop - kBottom);
  }

  void line(std::string& svg, double value, std::string_view colour, std::string_view more) const {
    svg += fmt::format(R"(<line x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}" stroke="{}"{}/>)", kLeft,
                       y(value), kWidth - kRight, y(value), colour, more);
    svg += "\n";
  }

  void label(std::string& svg, double value, const std::string& text) const {
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", kLeft - 6,
                       y(value) + 4, text);
    svg += "\n";
  }

  void points(std::string& svg) const {
    const auto count = static_cast<double>(series_.differences.size());
    for (std::size_t i = 0; i < series_.differences.size(); ++i) {
      const double value = series_.differences[i];
      const double x = kLeft + (kWidth - kLeft - kRight) * (static_cast<double>(i) + 0.5) / count;
      const std::string title =
          fmt::format("<title>pair {}: {:.4f}x</title>", i + 1, std::exp(value));
      if (std::abs(value) <= half_) {
        svg += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.2" fill="#0969da">{}</circle>)",
                           x, y(value), title);
      } else {
        const double tip = y(value);
        const double foot = value > 0 ? tip + 6 : tip - 6;
        svg += fmt::format(
            R"(<path d="M{:.1f} {:.1f}L{:.1f} {:.1f}L{:.1f} {:.1f}Z" fill="#0969da">{}</path>)", x,
            tip, x - 4, foot, x + 4, foot, title);
      }
    }
    svg += "\n";
  }

  const gates::BenchmarkSeries& series_;
  double tolerance_;
  double top_;
  double half_ = 0;
};

}  // namespace

std::string benchmark_plot(const std::vector<gates::BenchmarkSeries>& series,
                           tasks::Share tolerance) {
  const std::size_t shown = std::min(series.size(), kPanels);
  const double height = static_cast<double>(std::max<std::size_t>(shown, 1)) * kPanelHeight + 24;
  std::string svg =
      fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" )"
                  R"(viewBox="0 0 {0} {1}" role="img" font-family="sans-serif" font-size="11">)"
                  "\n<title>Pairs of base and change: ratio of their times</title>\n"
                  R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
                  "\n",
                  kWidth, height);
  const double margin = std::log1p(static_cast<double>(tolerance.millionths) / 1e6);
  for (std::size_t i = 0; i < shown; ++i) {
    Panel(series[i], margin, static_cast<double>(i) * kPanelHeight).draw(svg);
  }
  std::string foot = "dots: pairs; band: interval; dashed: tolerance";
  if (series.empty()) foot = "no pair was measured";
  if (series.size() > shown) foot += fmt::format("; {} more not shown", series.size() - shown);
  svg += fmt::format(R"(<text x="4" y="{}">{}</text>)", height - 8, foot);
  return svg + "\n</svg>\n";
}

std::string benchmark_table(const std::vector<gates::BenchmarkSeries>& series) {
  std::string text =
      "| benchmark | ratio | interval | pairs | spread | smallest found | result |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const gates::BenchmarkSeries& each : series) {
    const gates::TrendResult& result = each.result;
    text += fmt::format("| {} | {:.3f}x | {:.3f}–{:.3f} | {} | {:.1f}% | {:.1f}% | {} |\n",
                        escape_markdown(each.name, 200), result.estimate, result.low, result.high,
                        result.pairs, result.spread * 100, result.detectable * 100,
                        trend_word(result.trend));
  }
  return text;
}

}  // namespace runner
