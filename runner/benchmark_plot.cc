#include "runner/benchmark_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gates/text.h"
#include "runner/task_report.h"
#include "sandbox/os/escape.h"

namespace runner {
namespace {

constexpr std::size_t kPanels = 60;
constexpr double kHeadline = 20;  // height of a panel's words
constexpr double kPanelHeight = kHeadline + RatioPlot::kHeight;
constexpr std::size_t kLongestHeadline = 120;  // bytes
// The axis shows at least so many spreads; pairs further off are drawn at its edge.
constexpr double kSpreadsShown = 4;

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

}  // namespace

Svg pairs_plot(const gates::BenchmarkSeries& series, tasks::Share tolerance) {
  const double limit = 1 + static_cast<double>(tolerance.millionths) / 1e6;
  const double margin = 1 + static_cast<double>(tolerance.millionths) / 6e6;
  const gates::TrendResult& result = series.result;
  double high = std::max(limit, std::exp(kSpreadsShown * result.spread));
  double low = 1 / high;
  if (result.pairs > 0) {
    low = std::min(low, result.low);
    high = std::max(high, result.high);
  }
  RatioPlot plot(low, high);
  plot.title(gates::one_line(fmt::format("Ratio of {} to the base, each of {} pairs", series.name,
                                         series.differences.size()),
                             kLongestHeadline));
  plot.band(1 / margin, margin);
  plot.rule(1, RatioPlot::Rule::axis);
  plot.rule(limit, RatioPlot::Rule::limit);
  plot.mark(1);
  plot.mark(limit);
  const std::size_t count = series.differences.size();
  for (std::size_t i = 0; i < count; ++i) {
    const double ratio = std::exp(series.differences[i]);
    plot.point(i, count, ratio, fmt::format("pair {}: {:.4f}x", i + 1, ratio));
  }
  if (result.pairs > 0) {
    plot.rule(result.estimate, RatioPlot::Rule::estimate);
    plot.interval_at_edge(result.low, result.high);
  }
  plot.captions("pair 1", fmt::format("pair {}", count));
  return plot.take();
}

std::string benchmark_plot(const std::vector<gates::BenchmarkSeries>& series,
                           tasks::Share tolerance) {
  const std::size_t shown = std::min(series.size(), kPanels);
  const double height = static_cast<double>(std::max<std::size_t>(shown, 1)) * kPanelHeight + 24;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
      R"(role="img" font-family="sans-serif" font-size="12">)"
      "\n<title>Pairs of base and change: ratio of their times</title>\n"
      R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
      "\n",
      RatioPlot::kWidth, height);
  for (std::size_t i = 0; i < shown; ++i) {
    const gates::TrendResult& result = series[i].result;
    const double top = static_cast<double>(i) * kPanelHeight;
    const std::string headline = gates::one_line(
        fmt::format("{}: {:.3f}x ({:.3f} to {:.3f}), {} pairs, {}", series[i].name, result.estimate,
                    result.low, result.high, result.pairs, trend_word(result.trend)),
        kLongestHeadline);
    svg += fmt::format(R"(<text x="4" y="{:.0f}" font-weight="bold">{}</text>)", top + 15,
                       os::escape_markup(headline));
    svg += fmt::format(R"svg(<g transform="translate(0 {:.0f})">{}</g>)svg", top + kHeadline,
                       pairs_plot(series[i], tolerance).text());
    svg += "\n";
  }
  std::string foot = "dots: pairs; band: noise; dashed: tolerance; bar: interval";
  if (series.empty()) foot = "no pair was measured";
  if (series.size() > shown) foot += fmt::format("; {} more not shown", series.size() - shown);
  svg += fmt::format(R"(<text x="4" y="{:.0f}">{}</text>)", height - 8, foot);
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
