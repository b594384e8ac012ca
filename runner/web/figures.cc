#include "runner/web/figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "gates/benchmark_rows.h"
#include "gates/outside_clock.h"
#include "tasks/reports/report.h"

namespace runner::web {
namespace {

using tasks::CaseStatus;
using tasks::RunRecord;
using tasks::Side;

// The figures of one side of a pair; empty where it did not run or cannot be read.
gates::ProcessFigures figures_of(const JudgedTask& judged, const tasks::Gate& gate,
                                 const tasks::Step& step, Side side, int pair) {
  if (gate.clock != tasks::GateClock::report) {
    auto figures = gates::outside_figures({judged.policy, judged.evidence}, gate, side, pair);
    return figures ? std::move(*figures) : gates::ProcessFigures{};
  }
  const RunRecord* const run =
      judged.evidence.find({.side = side, .of = side, .step = step.name, .pair = pair});
  if (run == nullptr) return {};
  auto figures = gates::read_figures(step, *run);
  return figures ? std::move(*figures) : gates::ProcessFigures{};
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Of the pairs of one benchmark, in nanoseconds.
struct Times {
  std::vector<double> base, change;
};

bool is_bad(CaseStatus status) {
  return status == CaseStatus::failed || status == CaseStatus::error;
}

bool ran(CaseStatus status) {
  return status == CaseStatus::passed || status == CaseStatus::flaky || is_bad(status);
}

bool is_left_out(CaseStatus status) {
  return status == CaseStatus::skipped || status == CaseStatus::disabled ||
         status == CaseStatus::notrun;
}

// Cases of the plain runs of `steps` on one side, by id. A later report of a test replaces none
// that failed.
std::map<std::string, CaseStatus> cases_of(const JudgedTask& judged,
                                           const std::set<tasks::StepName>& steps, Side side) {
  std::map<std::string, CaseStatus> cases;
  for (const RunRecord& run : judged.evidence.runs) {
    const bool is_its =
        run.key.of == side && !run.key.pair && !run.key.rerun && steps.contains(run.key.step);
    if (!is_its) continue;
    for (const tasks::ReportRecord& report : run.reports)
      for (const tasks::TestCase& test : report.parsed.tests.cases) {
        const auto [at, is_new] = cases.emplace(test.id, test.status);
        if (!is_new && !is_bad(at->second)) at->second = test.status;
      }
  }
  return cases;
}

}  // namespace

std::vector<Metric> benchmark_metrics(const JudgedTask& judged, const tasks::Gate& gate) {
  const tasks::Step* const step =
      gate.steps.empty() ? nullptr : judged.policy.find_step(gate.steps.front());
  if (step == nullptr) return {};
  const Side other = judged.evidence.change.mixed_tree ? Side::mixed : Side::change;
  std::map<std::string, Times> times;
  for (int pair = 0; pair < gates::kLooks.back(); ++pair) {
    for (const auto& [name, figure] : figures_of(judged, gate, *step, Side::base, pair).benchmarks)
      times[name].base.push_back(static_cast<double>(figure.picoseconds) / 1000);
    for (const auto& [name, figure] : figures_of(judged, gate, *step, other, pair).benchmarks)
      times[name].change.push_back(static_cast<double>(figure.picoseconds) / 1000);
  }
  std::vector<Metric> metrics;
  for (const gates::BenchmarkSeries& series :
       gates::benchmark_series(gates::Context{judged.policy, judged.evidence}, gate)) {
    const auto found = times.find(series.name);
    // The geometric mean has no time of its own; the gate's words tell of it.
    if (found == times.end()) continue;
    metrics.push_back({.series = series,
                       .base_ns = median(found->second.base),
                       .change_ns = median(found->second.change)});
  }
  return metrics;
}

TestDelta test_delta(const JudgedTask& judged) {
  std::set<tasks::StepName> steps;
  for (const tasks::Gate& gate : judged.policy.gates)
    if (gate.kind == tasks::GateKind::tests) steps.insert(gate.steps.begin(), gate.steps.end());
  const auto base = cases_of(judged, steps, Side::base);
  const auto change = cases_of(judged, steps, Side::change);
  TestDelta delta;
  delta.is_empty = base.empty() && change.empty();
  for (const auto& [id, status] : change) {
    const auto before = base.find(id);
    const bool was_bad = before != base.end() && is_bad(before->second);
    if (is_bad(status))
      (was_bad ? delta.broken : delta.failing).push_back(id);
    else if (status == CaseStatus::flaky)
      delta.flaky.push_back(id);
    else if (is_left_out(status) && before != base.end() && ran(before->second))
      delta.skipped.push_back(id);
    else if (status == CaseStatus::passed && was_bad)
      delta.fixed.push_back(id);
    else if (status == CaseStatus::passed && before == base.end())
      delta.added.push_back(id);
    if (status == CaseStatus::passed) ++delta.passed;
  }
  for (const auto& [id, status] : base)
    if (ran(status) && !change.contains(id)) delta.gone.push_back(id);
  return delta;
}

}  // namespace runner::web
