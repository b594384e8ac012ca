#include "gates/outside_clock.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/test_lists.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "sandbox/outcome.h"
#include "tasks/evidence.h"
#include "tasks/measured_pair.h"
#include "tasks/reports/report.h"

namespace gates {

namespace {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;
using tasks::StepName;

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
// The least share of a whole run that its calls are taken to cost.
constexpr std::int64_t kLeastSlope = 100;

const StepName& measured_step(const tasks::Gate& gate) { return gate.steps.front(); }

// The runs of a pair, in the order in which they are made.
struct PairKeys {
  std::vector<RunKey> before, legs, after;
};
PairKeys keys_of(const Context& context, const tasks::Gate& gate, Side other, int pair) {
  const StepName& step = measured_step(gate);
  const tasks::MeasuredSteps around = tasks::measured_steps(context.policy, step);
  PairKeys keys;
  for (const StepName& name : around.before)
    keys.before.push_back(tasks::judge_key(name, other, pair));
  for (const Side side : {Side::base, other})
    for (const int leg : {0, 1}) keys.legs.push_back(tasks::leg_key(step, side, pair, leg));
  for (const StepName& name : around.after)
    keys.after.push_back(tasks::judge_key(name, other, pair));
  return keys;
}

bool is_usable(const RunRecord& record) {
  return record.outcome.is_success() &&
         std::ranges::all_of(record.outputs, &std::string::empty, &tasks::OutputRecord::error);
}

std::unexpected<RowProblem> clock_problem(FailureClass failure, std::string text,
                                          const StepName& step) {
  return std::unexpected(RowProblem{failure, std::move(text), step.str()});
}

FailureClass class_of_ending(const RunRecord& record) {
  switch (record.outcome.kind) {
    case sandbox::OutcomeKind::timed_out:
    case sandbox::OutcomeKind::killed:
      return FailureClass::limit;
    case sandbox::OutcomeKind::cancelled:
    case sandbox::OutcomeKind::setup_failed:
      return FailureClass::infra;
    case sandbox::OutcomeKind::exited:
    case sandbox::OutcomeKind::signalled:
      break;
  }
  return record.outcome.is_success() ? FailureClass::report : FailureClass::benchmark;
}

std::string describe_unusable(const RunRecord& record) {
  const std::string& name = record.key.step.str();
  for (const tasks::OutputRecord& output : record.outputs) {
    if (record.outcome.is_success() && !output.error.empty())
      return fmt::format("{} left no output `{}`: {}", name, output.name, one_line(output.error));
  }
  return fmt::format("{} {}", name, sandbox::describe(record.outcome));
}

// The first thing that the judge of a pair found wrong.
std::optional<RowProblem> judge_problem(const Context& context, const RunRecord& record, int pair) {
  const StepName& name = record.key.step;
  const auto wrong = [&](std::string_view what) {
    return RowProblem{
        FailureClass::test,
        fmt::format("answers of measured calls are wrong (pair {}): {}", pair + 1, what),
        name.str()};
  };
  for (const tasks::ReportRecord& report : record.reports) {
    if (tasks::report_kind(report.format) != tasks::ReportKind::tests) continue;
    const std::string& error = report.error.empty() ? report.parsed.error : report.error;
    if (!error.empty())
      return wrong(fmt::format("{} left no readable report: {}", name.str(), one_line(error)));
    const TestFindings found = compare_tests({.base = nullptr,
                                              .subject = &report.parsed.tests,
                                              .claims = &context.evidence.claims,
                                              .of = record.key.of,
                                              .run = record.id});
    if (!found.failures.empty()) return wrong(found.failures.front().text);
    if (found.passed == 0) return wrong(name.str() + " judged nothing");
  }
  if (!is_usable(record)) return wrong(describe_unusable(record));
  return std::nullopt;
}

ProcessFigures figures_of(const Context& context, const tasks::Gate& gate, const Step& step,
                          Side side, int pair) {
  const auto cost = [&](int leg) {
    const RunRecord& record = *context.evidence.find(tasks::leg_key(step.name, side, pair, leg));
    return gate.clock == tasks::GateClock::outside_wall ? record.usage.wall_us
                                                        : record.usage.cpu_us;
  };
  const OutsideFigures figures = outside_figures_of(*step.calls, cost(0), cost(1));
  ProcessFigures process;
  process.benchmarks.emplace(step.name.str() + ", each call", figures.each_call);
  process.benchmarks.emplace(step.name.str() + ", whole run", figures.whole_run);
  return process;
}

}  // namespace

OutsideFigures outside_figures_of(const tasks::CallCounts& calls, std::int64_t fewer_us,
                                  std::int64_t more_us) {
  const std::int64_t whole =
      std::max<std::int64_t>(1, more_us * kPicosecondsPerMicrosecond / calls.more);
  const std::int64_t slope =
      (more_us - fewer_us) * kPicosecondsPerMicrosecond / (calls.more - calls.fewer);
  const auto figure = [](std::int64_t picoseconds, int iterations) {
    return BenchmarkFigure{.clock = tasks::BenchClock::cpu,
                           .picoseconds = picoseconds,
                           .iterations = iterations,
                           .repetitions = 1};
  };
  return {figure(std::max({slope, whole / kLeastSlope, std::int64_t{1}}), calls.more - calls.fewer),
          figure(whole, calls.more)};
}

bool is_pair_complete(const Context& context, const tasks::Gate& gate, Side other, int pair) {
  const PairKeys keys = keys_of(context, gate, other, pair);
  for (const std::vector<RunKey>* const group : {&keys.before, &keys.legs, &keys.after}) {
    bool is_sound = true;
    for (const RunKey& key : *group) {
      const RunRecord* const record = context.evidence.find(key);
      if (record == nullptr) return false;
      is_sound = is_sound && is_usable(*record);
    }
    // Nothing of the pair runs after a group in which something failed.
    if (!is_sound) return true;
  }
  return true;
}

std::expected<ProcessFigures, RowProblem> outside_figures(const Context& context,
                                                          const tasks::Gate& gate, Side side,
                                                          int pair) {
  const StepName& name = measured_step(gate);
  const Step* const step = context.policy.find_step(name);
  if (step == nullptr || !step->calls)
    return clock_problem(FailureClass::internal, name.str() + " has no calls", name);
  const PairKeys keys =
      keys_of(context, gate, context.is_escalated() ? Side::mixed : Side::change, pair);
  std::vector<RunKey> own = keys.before;
  std::ranges::copy_if(keys.legs, std::back_inserter(own),
                       [side](const RunKey& key) { return key.side == side; });
  for (const RunKey& key : own) {
    const RunRecord* const record = context.evidence.find(key);
    if (record == nullptr)
      return clock_problem(FailureClass::internal, "a run of " + key.step.str() + " is missing",
                           name);
    if (is_usable(*record)) continue;
    const FailureClass failure = class_of_ending(*record);
    const bool is_of_base = key.side == Side::judge && failure != FailureClass::infra;
    return clock_problem(is_of_base ? FailureClass::base : failure, describe_unusable(*record),
                         key.step);
  }
  for (const RunKey& key : keys.after) {
    const RunRecord* const record = side == Side::base ? nullptr : context.evidence.find(key);
    if (record == nullptr) continue;
    if (auto wrong = judge_problem(context, *record, pair)) return std::unexpected(*wrong);
  }
  return figures_of(context, gate, *step, side, pair);
}

tasks::Assurance outside_assurance(const Context& context, const tasks::Gate& gate, Side other) {
  const tasks::MeasuredSteps around = tasks::measured_steps(context.policy, measured_step(gate));
  bool has_seed = false;
  bool has_built = false;
  // In the order in which runs ended: after the first draw of a pair nothing is built.
  for (const RunRecord& record : context.evidence.runs) {
    const bool is_draw = record.key.side == Side::judge && record.key.pair.has_value() &&
                         std::ranges::find(around.before, record.key.step) != around.before.end();
    if (is_draw && !record.seed.empty()) has_seed = true;
    const bool is_build =
        record.key.side == other && !record.key.pair && !is_late(context.policy, record.key.step);
    if (is_build && has_seed) has_built = true;
  }
  return has_seed && !has_built ? tasks::Assurance::sealed : tasks::Assurance::out_of_process;
}

}  // namespace gates
