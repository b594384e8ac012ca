#include "gates/benchmark_gate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/benchmark_rows.h"
#include "gates/runs.h"
#include "gates/statistics.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;

constexpr double kPassLevel = kPassError / static_cast<double>(kLooks.size());
// Looks at which a regression can be found: {16, 24, 32, 48}.
constexpr auto kRegressLooks =
    std::ranges::count_if(kLooks, [](int pairs) { return pairs >= kFirstRegressLook; });
// A share of accounted CPU time that drifts so far from the base's is odd, and said.
constexpr double kOddCpuShare = 0.15;

std::int64_t millionths(double ratio) { return std::llround(ratio * 1e6); }

// "1.31x", and with one digit more where two would hide the difference.
std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, std::abs(ratio - 1) < 0.1 ? 3 : 2);
}

}  // namespace

Margins margins_of(tasks::Share tolerance) {
  const double share = static_cast<double>(tolerance.millionths) / 1e6;
  return {std::log1p(share / 6), std::log1p(share)};
}

TrendResult look_at(std::span<const double> differences, std::size_t benchmarks,
                    const Margins& margins) {
  const double regress_level =
      kRegressError / static_cast<double>(static_cast<std::size_t>(kRegressLooks) * benchmarks);
  const PairedSample sample(differences);
  const double low = sample.lower(regress_level);
  const double high = sample.upper(kPassLevel);
  TrendResult result;
  result.pairs = sample.pairs();
  result.estimate = std::exp(sample.estimate());
  // What is shown stays finite, where few pairs say nothing at the level of the decision.
  result.low = std::exp(std::isfinite(low) ? low : sample.lower(kPassLevel));
  result.high = std::exp(high);
  result.spread = sample.spread();
  if (high < margins.upper) {
    result.trend = Trend::passed;
  } else if (result.pairs >= kFirstRegressLook && low > margins.lower) {
    result.trend = Trend::regressed;
  }
  return result;
}

TrendResult find_trend(std::span<const double> differences, std::size_t benchmarks,
                       const Margins& margins) {
  TrendResult result;
  for (const int pairs : kLooks) {
    if (static_cast<std::size_t>(pairs) > differences.size()) break;
    result = look_at(differences.first(static_cast<std::size_t>(pairs)), benchmarks, margins);
    if (result.trend != Trend::undecided) break;
  }
  return result;
}

namespace {

class BenchmarkGate {
 public:
  BenchmarkGate(const Context& context, const tasks::Gate& gate)
      : context_(context),
        gate_(gate),
        other_(context.is_escalated() ? Side::mixed : Side::change) {
    result_.name = gate.name;
    result_.kind = gate.kind;
  }

  Progress progress() {
    step_ = gate_.steps.empty() ? nullptr : context_.policy.find_step(gate_.steps.front());
    if (step_ == nullptr) {
      return blame(FailureClass::internal, "the gate names no step of the policy", {}, {});
    }
    if (auto unprepared = advance_prerequisites()) return *std::move(unprepared);
    int pair = 0;
    while (pair < kLooks.back()) {
      const RunRecord* const base = find_run(Side::base, pair);
      const RunRecord* const other = find_run(other_, pair);
      if (base == nullptr || other == nullptr) {
        return Progress{NextPair{step_->name, other_, pair}, {}, false, nullptr};
      }
      if (auto bad = take_pair(*base, *other)) return *std::move(bad);
      ++pair;
      if (std::ranges::find(kLooks, pair) != kLooks.end() && look()) break;
    }
    return finish();
  }

 private:
  const RunRecord* find_run(Side side, int pair) const {
    return context_.evidence.find(RunKey{side, side, step_->name, pair});
  }

  Progress blame(FailureClass failure, std::string text, std::string where, std::string run) {
    Progress progress;
    progress.is_final = failure == FailureClass::base || failure == FailureClass::infra ||
                        failure == FailureClass::internal;
    result_.status = GateStatus::failed;
    result_.failure = failure;
    result_.summary = text;
    result_.reasons.push_back({std::move(text), std::move(where), std::move(run), {}});
    progress.result = std::move(result_);
    return progress;
  }

  // What the step needs, on both sides; a value ends the gate or names the next run.
  std::optional<Progress> advance_prerequisites() {
    std::vector<RunKey> needed;
    for (const Side side : {Side::base, other_}) {
      std::ranges::copy(needs_of(context_.policy, RunKey{side, side, step_->name, std::nullopt}),
                        std::back_inserter(needed));
    }
    const Preparation preparation = prepare(context_, ordered_runs(context_, needed), {});
    if (preparation.next) return Progress{NextRun{*preparation.next}, {}, false, nullptr};
    if (preparation.failed == nullptr) return std::nullopt;
    const RunRecord& failed = *preparation.failed;
    if (failed.key.of == Side::mixed &&
        prerequisite_failure(context_, failed) != FailureClass::infra) {
      const MixedQuestion question = ask_mixed(context_, failed);
      if (question.next) return Progress{NextRun{*question.next}, {}, false, nullptr};
      if (question.is_mixed_broken) return not_comparable(failed);
      if (question.failed != nullptr) {
        return failed_prerequisite(context_, gate_, *question.failed);
      }
    }
    return failed_prerequisite(context_, gate_, failed);
  }

  Progress not_comparable(const RunRecord& failed) {
    Progress progress;
    progress.broken_mixed = &failed;
    const Step* const step = context_.policy.find_step(failed.key.step);
    result_.status = GateStatus::not_run;
    result_.summary = "not compared: the base's benchmarks do not build with this change";
    result_.reasons.push_back(
        {describe_fault(*step, failed), failed.key.step.str(), failed.id, {}});
    progress.result = std::move(result_);
    return progress;
  }

  std::optional<Progress> take_pair(const RunRecord& base, const RunRecord& other) {
    auto base_figures = read_figures(*step_, base);
    if (!base_figures) {
      const RowProblem& problem = base_figures.error();
      const bool is_infra = problem.failure == FailureClass::infra;
      return blame(is_infra ? FailureClass::infra : FailureClass::base,
                   is_infra ? problem.text : "on the base: " + problem.text, problem.where,
                   base.id);
    }
    auto other_figures = read_figures(*step_, other);
    if (!other_figures) {
      const RowProblem& problem = other_figures.error();
      return blame(problem.failure, problem.text, problem.where, other.id);
    }
    if (differences_.empty()) {
      for (const auto& [name, figure] : base_figures->benchmarks) differences_[name];
    }
    // The base's own names must not change from process to process.
    const bool is_same = std::ranges::equal(
        base_figures->benchmarks, differences_,
        [](const auto& left, const auto& right) { return left.first == right.first; });
    if (!is_same) {
      return blame(FailureClass::base, "on the base: the benchmarks differ from run to run",
                   step_->name.str(), base.id);
    }
    if (const auto problem = compare_names(*base_figures, *other_figures)) {
      return blame(problem->failure, problem->text, problem->where, other.id);
    }
    record_pair(*base_figures, *other_figures);
    last_other_run_ = other.id;
    return std::nullopt;
  }

  void record_pair(const ProcessFigures& base, const ProcessFigures& other) {
    for (const auto& [name, figure] : base.benchmarks) {
      const BenchmarkFigure& compared = other.benchmarks.at(name);
      differences_[name].push_back(std::log(static_cast<double>(compared.picoseconds)) -
                                   std::log(static_cast<double>(figure.picoseconds)));
    }
    for (const auto& [name, figure] : other.benchmarks) {
      if (!base.benchmarks.contains(name)) new_names_.insert(name);
    }
    // New benchmarks add to what is accounted for; then the shares say nothing.
    if (base.cpu_share && other.cpu_share && new_names_.empty()) {
      cpu_shares_.push_back(std::log(*other.cpu_share) - std::log(*base.cpu_share));
    }
  }

  // True if the gate is decided with the pairs so far.
  bool look() {
    bool is_all_passed = true;
    bool has_regressed = false;
    for (const auto& [name, differences] : differences_) {
      TrendResult& trend = trends_[name];
      // A decided benchmark stays decided; its further figures are not looked at.
      if (trend.trend == Trend::undecided) {
        trend = look_at(differences, differences_.size(), margins_of(gate_.tolerance));
      }
      is_all_passed = is_all_passed && trend.trend == Trend::passed;
      has_regressed = has_regressed || trend.trend == Trend::regressed;
    }
    return is_all_passed || has_regressed;
  }

  Reason reason(const std::string& name, const TrendResult& trend) const {
    std::string text =
        fmt::format("{} is {}x (interval {}–{}, {} pairs), tolerance {}", one_line(name, 200),
                    ratio_text(trend.estimate), ratio_text(trend.low), ratio_text(trend.high),
                    trend.pairs, percent(gate_.tolerance));
    if (trend.trend == Trend::undecided) {
      text += fmt::format("; undecided: pairs spread by {:.1f}%", trend.spread * 100);
    }
    return {std::move(text),
            name,
            last_other_run_,
            {{"ratio_ppm", millionths(trend.estimate)},
             {"low_ppm", millionths(trend.low)},
             {"high_ppm", millionths(trend.high)},
             {"spread_ppm", millionths(trend.spread)},
             {"pairs", trend.pairs}}};
  }

  // Reasons of one kind, the slowest first.
  std::int64_t add_reasons(Trend kind) {
    std::vector<std::pair<std::string, TrendResult>> chosen;
    std::ranges::copy_if(trends_, std::back_inserter(chosen),
                         [kind](const auto& entry) { return entry.second.trend == kind; });
    std::ranges::stable_sort(chosen, std::ranges::greater{},
                             [](const auto& entry) { return entry.second.estimate; });
    for (const auto& [name, trend] : chosen) result_.reasons.push_back(reason(name, trend));
    return static_cast<std::int64_t>(chosen.size());
  }

  void add_notes() {
    for (const std::string& name : new_names_) {
      result_.reasons.push_back(
          {one_line(name, 200) + " is new: the base does not have it, it is not compared",
           name,
           last_other_run_,
           {}});
    }
    if (cpu_shares_.size() < static_cast<std::size_t>(kLooks.front())) return;
    const PairedSample sample(cpu_shares_);
    const double low = sample.lower(kPassLevel);
    const double high = sample.upper(kPassLevel);
    if (low <= std::log1p(kOddCpuShare) && high >= -std::log1p(kOddCpuShare)) return;
    result_.reasons.push_back(
        {fmt::format("odd: the rows account for {}x the share of the process's CPU time that they "
                     "account for on the base",
                     ratio_text(std::exp(sample.estimate()))),
         step_->name.str(),
         last_other_run_,
         {{"ratio_ppm", millionths(std::exp(sample.estimate()))},
          {"low_ppm", millionths(std::exp(low))},
          {"high_ppm", millionths(std::exp(high))}}});
  }

  Progress finish() {
    const std::int64_t regressed = add_reasons(Trend::regressed);
    const std::int64_t undecided = add_reasons(Trend::undecided);
    const std::int64_t passed = add_reasons(Trend::passed);
    const std::string first = result_.reasons.empty() ? "" : result_.reasons.front().text;
    if (regressed > 0) {
      result_.status = GateStatus::failed;
      result_.failure = FailureClass::benchmark;
      result_.summary = first;
      if (regressed > 1) result_.summary += fmt::format("; {} more are slower", regressed - 1);
    } else if (undecided > 0) {
      result_.status = GateStatus::inconclusive;
      result_.failure = FailureClass::benchmark;
      result_.summary = first;
      if (undecided > 1) result_.summary += fmt::format("; {} more undecided", undecided - 1);
    } else {
      result_.status = GateStatus::passed;
      result_.summary =
          fmt::format("{} within {}", counted(passed, "benchmark"), percent(gate_.tolerance));
    }
    add_notes();
    bound_reasons(result_.reasons);
    return Progress{NextNothing{}, std::move(result_), false, nullptr};
  }

  const Context& context_;
  const tasks::Gate& gate_;
  Side other_;
  const Step* step_ = nullptr;
  GateResult result_;
  std::map<std::string, std::vector<double>> differences_;  // by name, one a pair
  std::map<std::string, TrendResult> trends_;               // as of the last look
  std::vector<double> cpu_shares_;                          // ln of other's over base's
  std::set<std::string> new_names_;
  std::string last_other_run_;
};

}  // namespace

Progress benchmark_progress(const Context& context, const tasks::Gate& gate) {
  return BenchmarkGate(context, gate).progress();
}

}  // namespace gates
