#include <algorithm>

#include "runner/benchmark_plot.h"
#include "runner/web/figures.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

constexpr std::size_t kShownReasons = 12;
constexpr std::size_t kShownTests = 40;
constexpr std::size_t kShownPlots = 12;

std::string tolerance_text(const tasks::Gate& gate) {
  return delta_text(1 + static_cast<double>(gate.tolerance.millionths) / 1e6);
}

void add_reasons(Html& out, const TaskView& task, const gates::GateResult& gate) {
  if (gate.reasons.empty()) return;
  out << "<ul class=\"reasons\">";
  for (std::size_t i = 0; i < std::min(gate.reasons.size(), kShownReasons); ++i) {
    const gates::Reason& reason = gate.reasons[i];
    out << "<li>" << reason.text;
    if (!reason.evidence.empty()) {
      out << " <a href=\"/tasks/" << task.id << "/logs/";
      out.url(reason.evidence) << "\">log</a>";
    }
    out << "</li>";
  }
  if (gate.reasons.size() > kShownReasons)
    out << "<li class=\"dim\">and " << gate.reasons.size() - kShownReasons << " more: see the <a "
        << "href=\"/tasks/" << task.id << "/report\">report</a></li>";
  out << "</ul>";
}

void add_gate_row(Html& out, const TaskView& task, const gates::GateResult& gate) {
  out << "<tr id=\"gate-" << gate.name.str() << "\"><td>"
      << badge(gates::gate_status_name(gate.status)) << "</td><th scope=\"row\">" << gate.name.str()
      << "</th><td>" << tasks::gate_kind_name(gate.kind) << "</td><td>"
      << tasks::assurance_name(gate.assurance) << "</td><td>" << gate.summary;
  add_reasons(out, task, gate);
  out << "</td></tr>";
}

std::string_view trend_word(const Metric& metric) {
  switch (metric.series.result.trend) {
    case gates::Trend::passed:
      return "passed";
    case gates::Trend::regressed:
      return "regressed";
    case gates::Trend::undecided:
      return "undecided";
  }
  return "undecided";
}

void add_metrics(Html& out, const tasks::Gate& gate, const std::vector<Metric>& metrics,
                 std::string_view assurance) {
  out << "<h3>" << gate.name.str()
      << ": figures</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Figures "
         "of "
      << gate.name.str()
      << "\"><table class=\"figures\"><thead><tr><th scope=\"col\">Metric</th><th scope=\"col\" "
         "class=\"num\">Base</th><th scope=\"col\" class=\"num\">Change</th><th scope=\"col\" "
         "class=\"num\">Delta</th><th scope=\"col\" class=\"num\">Interval</th><th scope=\"col\" "
         "class=\"num\">Tolerance</th><th scope=\"col\" class=\"num\">n</th><th scope=\"col\">"
         "Assurance</th><th scope=\"col\">Result</th></tr></thead><tbody>";
  for (const Metric& metric : metrics) {
    const gates::TrendResult& trend = metric.series.result;
    out << "<tr><th scope=\"row\">" << metric.series.name << "</th><td class=\"num\">"
        << nanoseconds_text(metric.base_ns) << "</td><td class=\"num\">"
        << nanoseconds_text(metric.change_ns) << "</td>";
    if (trend.pairs > 0)
      out << "<td class=\"num\">" << delta_text(trend.estimate) << "</td><td class=\"num\">"
          << delta_text(trend.low) << " … " << delta_text(trend.high) << "</td>";
    else
      out << "<td class=\"num\">–</td><td class=\"num\">too few pairs</td>";
    out << "<td class=\"num\">" << tolerance_text(gate) << "</td><td class=\"num\">"
        << metric.series.differences.size() << "</td><td>" << assurance << "</td><td>"
        << badge(trend_word(metric)) << "</td></tr>";
  }
  out << "</tbody></table></div><p class=\"dim\">Time per iteration, medians. Delta: "
         "Hodges–Lehmann estimate of the ratio over n interleaved pairs, with its bounds; slower "
         "is +.</p>";
}

void add_plots(Html& out, const tasks::Gate& gate, const std::vector<Metric>& metrics) {
  out << "<div class=\"plots\">";
  for (std::size_t i = 0; i < std::min(metrics.size(), kShownPlots); ++i)
    out << "<figure><figcaption>" << metrics[i].series.name << "</figcaption>"
        << pairs_plot(metrics[i].series, gate.tolerance) << "</figure>";
  out << "</div>";
  if (metrics.size() > kShownPlots)
    out << "<p class=\"dim\">" << metrics.size() - kShownPlots
        << " further plots are left out.</p>";
  out << "<p class=\"dim\">Each point is a pair; the band is what the gate takes for noise, the "
         "dashed line the tolerance, the bar at the right the interval.</p>";
}

void add_benchmarks(Html& out, const TaskData& data) {
  for (const tasks::Gate& gate : data.judged->policy.gates) {
    if (gate.kind != tasks::GateKind::benchmark) continue;
    const std::vector<Metric> metrics = benchmark_metrics(*data.judged, gate);
    if (metrics.empty()) continue;
    const auto result = std::ranges::find(data.task.gates, gate.name, &gates::GateResult::name);
    add_metrics(out, gate, metrics,
                result == data.task.gates.end() ? std::string_view("–")
                                                : tasks::assurance_name(result->assurance));
    add_plots(out, gate, metrics);
  }
}

void add_tests(Html& out, Markup words, std::string_view kind,
               const std::vector<std::string>& tests) {
  if (tests.empty()) return;
  out << "<dt>" << badge(kind) << " " << tests.size() << " " << words << "</dt><dd>";
  for (std::size_t i = 0; i < std::min(tests.size(), kShownTests); ++i)
    out << "<code>" << tests[i] << "</code> ";
  if (tests.size() > kShownTests) out << "and " << tests.size() - kShownTests << " more";
  out << "</dd>";
}

void add_delta(Html& out, const TestDelta& delta) {
  if (delta.is_empty) return;
  out << "<h3>Tests, against the base</h3><dl class=\"tests\">";
  add_tests(out, "newly failing", "failed", delta.failing);
  add_tests(out, "gone", "failed", delta.gone);
  add_tests(out, "newly skipped", "inconclusive", delta.skipped);
  add_tests(out, "flaky", "inconclusive", delta.flaky);
  add_tests(out, "failing on the base too", "inconclusive", delta.broken);
  add_tests(out, "fixed", "passed", delta.fixed);
  add_tests(out, "new", "passed", delta.added);
  out << "</dl><p>" << delta.passed << " tests pass.</p>";
}

}  // namespace

Html gates_part(const TaskData& data) {
  Html out;
  if (data.task.gates.empty()) return out;
  out << "<section aria-labelledby=\"gates-title\"><h2 id=\"gates-title\">Gates</h2>"
         "<table class=\"list\"><caption class=\"hidden\">What each gate says</caption><thead><tr>"
         "<th scope=\"col\">Result</th><th scope=\"col\">Gate</th><th scope=\"col\">Kind</th>"
         "<th scope=\"col\">Assurance</th><th scope=\"col\">In words</th></tr></thead><tbody>";
  for (const gates::GateResult& gate : data.task.gates) add_gate_row(out, data.task, gate);
  out << "</tbody></table>";
  if (data.judged != nullptr) {
    add_delta(out, test_delta(*data.judged));
    add_benchmarks(out, data);
  }
  return out << "</section>";
}

}  // namespace runner::web
