#include "gates/benchmark_gate.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/benchmark_calibration.h"
#include "gates/benchmark_rows.h"
#include "gates/benchmark_samples.h"
#include "gates/benchmark_words.h"
#include "gates/outside_clock.h"
#include "gates/runs.h"
#include "gates/sequential_test.h"
#include "gates/statistics.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/measured_pair.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;
using tasks::Variant;

std::int64_t earlier_tests(const Context& context, const tasks::Gate& gate) {
  const auto found = context.evidence.earlier_tests.find(gate.name.str());
  return found == context.evidence.earlier_tests.end() ? 0 : found->second;
}

TestPlan plan_of(const Context& context, const tasks::Gate& gate) {
  TestPlan plan;
  plan.margins = margins_of(gate.tolerance);
  plan.earlier = earlier_tests(context, gate);
  plan.passes_undetectable = gate.accept_mde;
  if (gate.max_spread) plan.max_spread = static_cast<double>(gate.max_spread->millionths) / 1e6;
  return plan;
}

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
    if (auto unarmed = calibrate()) return *std::move(unarmed);
    if (auto ended = measure()) return *std::move(ended);
    // What an outside clock measured is not built again: its figures are of many calls and inputs.
    if (test_->has_regressed() && !is_outside()) {
      if (auto ended = confirm()) return *std::move(ended);
    }
    return finish();
  }

  std::vector<BenchmarkSeries> take_series() {
    if (test_) test_->estimate(samples_.series(), samples_.geometric());
    std::vector<BenchmarkSeries> all;
    const std::size_t count = test_ ? samples_.names().size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<const double> series = samples_.series()[i];
      all.push_back({samples_.names()[i], {series.begin(), series.end()}, test_->results()[i]});
    }
    if (count > 1) {
      const std::span<const double> mean = samples_.geometric();
      all.push_back({std::string(kGeometricMean), {mean.begin(), mean.end()}, test_->geometric()});
    }
    return all;
  }

 private:
  bool is_outside() const { return gate_.clock != tasks::GateClock::report; }

  // Of an outside clock: the run with the more calls.
  const RunRecord* find_run(Side side, int pair, Variant variant) const {
    return context_.evidence.find(is_outside() ? tasks::leg_key(step_->name, side, pair, 1)
                                               : RunKey{side, side, step_->name, pair, variant});
  }

  bool has_pair(int pair, Variant variant) const {
    if (is_outside()) return is_pair_complete(context_, gate_, other_, pair);
    return find_run(Side::base, pair, variant) != nullptr &&
           find_run(other_, pair, variant) != nullptr;
  }

  std::expected<ProcessFigures, RowProblem> figures_of(Side side, int pair, Variant variant) const {
    return is_outside() ? outside_figures(context_, gate_, side, pair)
                        : read_figures(*step_, *find_run(side, pair, variant));
  }

  std::string run_id(Side side, int pair, Variant variant) const {
    const RunRecord* const run = find_run(side, pair, variant);
    return run == nullptr ? std::string() : run->id;
  }

  // Of the processes of one pair.
  std::int64_t wall_ms_of(int pair, Variant variant) const {
    std::int64_t sum = 0;
    for (const Side side : {Side::base, other_}) {
      const RunRecord* const run = find_run(side, pair, variant);
      const RunRecord* const shorter =
          is_outside() ? context_.evidence.find(tasks::leg_key(step_->name, side, pair, 0))
                       : nullptr;
      for (const RunRecord* const each : {run, shorter})
        if (each != nullptr) sum += each->usage.wall_ms;
    }
    return sum;
  }

  Progress blame(FailureClass failure, std::string text, std::string where, std::string run) {
    Progress progress;
    progress.is_final = failure == FailureClass::base || failure == FailureClass::infra ||
                        failure == FailureClass::internal;
    if (is_outside() && step_ != nullptr) {
      result_.assurance = outside_assurance(context_, gate_, other_);
    }
    result_.status = GateStatus::failed;
    result_.failure = failure;
    result_.summary = text;
    result_.reasons.push_back({std::move(text), std::move(where), std::move(run), {}});
    progress.result = std::move(result_);
    return progress;
  }

  std::vector<RunKey> needed_runs(Variant variant) const {
    std::vector<RunKey> needed;
    for (const Side side : {Side::base, other_}) {
      std::ranges::copy_if(
          needs_of(context_.policy, RunKey{side, side, step_->name, std::nullopt, variant}),
          std::back_inserter(needed),
          // Inputs of an outside clock are made anew for each pair.
          [this](const RunKey& key) { return !is_outside() || key.side != Side::judge; });
    }
    if (is_outside()) {
      for (const tasks::StepName& name : tasks::measured_steps(context_.policy, step_->name).order)
        needed.push_back(key_for(context_.policy, name, other_));
    }
    return needed;
  }

  // What the step needs, on both sides; a value ends the gate or names the next run.
  std::optional<Progress> advance_prerequisites() {
    const Preparation preparation =
        prepare(context_, ordered_runs(context_, needed_runs(Variant::plain)), {});
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

  // The base against itself, where the evidence asks for it; a value ends the gate or names the
  // next run.
  std::optional<Progress> calibrate() {
    if (!context_.evidence.calibrates || is_outside()) return std::nullopt;
    Calibration calibration = calibrate_base(context_, gate_, *step_);
    if (calibration.next) return Progress{NextRun{*calibration.next}, {}, false, nullptr};
    if (calibration.problem) {
      const RowProblem& problem = *calibration.problem;
      return blame(
          problem.failure == FailureClass::infra ? FailureClass::infra : FailureClass::base,
          "on the base: " + problem.text, problem.where, calibration.run);
    }
    calibration_ = std::move(calibration.reasons);
    if (calibration.is_armed) return std::nullopt;
    result_.status = GateStatus::inconclusive;
    result_.failure = FailureClass::benchmark;
    result_.reasons = std::move(calibration_);
    result_.summary = "not armed: " + result_.reasons.front().text;
    return Progress{NextNothing{}, std::move(result_), false, nullptr};
  }

  std::optional<Progress> take_pair(int number, Variant variant, bool is_counted,
                                    const std::set<std::string>& only, PairSamples& samples) {
    const std::string base_run = run_id(Side::base, number, variant);
    const std::string other_run = run_id(other_, number, variant);
    const auto base_figures = figures_of(Side::base, number, variant);
    if (!base_figures) {
      const RowProblem& problem = base_figures.error();
      const bool is_infra = problem.failure == FailureClass::infra;
      return blame(is_infra ? FailureClass::infra : FailureClass::base,
                   is_infra ? problem.text : "on the base: " + problem.text, problem.where,
                   base_run);
    }
    const auto other_figures = figures_of(other_, number, variant);
    if (!other_figures) {
      const RowProblem& problem = other_figures.error();
      return blame(problem.failure, problem.text, problem.where, other_run);
    }
    const auto disturbances =
        disturbances_of(*find_run(Side::base, number, variant), *find_run(other_, number, variant));
    const MeasuredPair pair{*base_figures, *other_figures, disturbances};
    const auto wrong = is_counted ? samples.take(pair, only) : samples.check(pair, only);
    last_other_run_ = other_run;
    if (!wrong) return std::nullopt;
    const std::string where =
        wrong->problem.where.empty() ? step_->name.str() : wrong->problem.where;
    return blame(wrong->problem.failure, wrong->problem.text, where,
                 wrong->is_of_base ? base_run : other_run);
  }

  // Pairs and looks until all is decided. The first pair is a warm-up of the machine: it is checked
  // and not counted.
  std::optional<Progress> measure() {
    constexpr Variant variant = Variant::plain;
    std::set<std::string> only;
    for (int pair = 0; pair <= kLooks.back(); ++pair) {
      if (!has_pair(pair, variant)) {
        // Whatever is undecided then stays so.
        if (pair > 0 && spent_ms_ >= gate_.budget.count()) break;
        return Progress{
            NextPair{step_->name, other_, pair, variant, {only.begin(), only.end()}, gate_.clock},
            {},
            false,
            nullptr};
      }
      spent_ms_ += wall_ms_of(pair, variant);
      if (auto bad = take_pair(pair, variant, pair > 0, only, samples_)) return bad;
      if (pair == 0) {
        if (auto wrong = begin_tests()) return wrong;
      }
      if (std::ranges::find(kLooks, pair) == kLooks.end()) continue;
      if (look(pair)) break;
      // An outside clock measures the whole step.
      if (!is_outside()) only = undecided();
    }
    return std::nullopt;
  }

  // The names are known: sets up what is tested.
  std::optional<Progress> begin_tests() {
    test_.emplace(plan_of(context_, gate_), samples_.names().size());
    std::vector<double> shares;
    for (const auto& [key, share] : context_.evidence.claims.faster) {
      const auto target = claimed_benchmark(key, gate_.name.str());
      if (!target) continue;
      if (!target->empty() &&
          std::ranges::find(samples_.names(), *target) == samples_.names().end()) {
        return blame(
            FailureClass::benchmark,
            fmt::format("the claim names {}, which the base does not have", one_line(*target, 200)),
            *target, last_other_run_);
      }
      claimed_.push_back(*target);
      shares.push_back(static_cast<double>(share) / 1e6);
    }
    if (!shares.empty()) claims_.emplace(std::move(shares), earlier_tests(context_, gate_));
    return std::nullopt;
  }

  // A geometric mean over one benchmark is that benchmark.
  std::span<const double> claimed_series(const std::string& name) const {
    if (!name.empty()) return samples_.series_of(name);
    return samples_.geometric();
  }

  // True if the gate is decided with the pairs so far.
  bool look(int pairs) {
    test_->look(pairs, samples_.series(), samples_.geometric());
    bool is_refuted = false;
    bool are_claims_decided = true;
    if (claims_) {
      std::vector<std::span<const double>> series;
      for (const std::string& name : claimed_) series.push_back(claimed_series(name));
      claims_->look(pairs, series);
      are_claims_decided = claims_->is_decided();
      is_refuted = std::ranges::any_of(claims_->results(), [](const ClaimResult& result) {
        return result.state == ClaimState::refuted;
      });
    }
    return test_->has_regressed() || is_refuted || (test_->is_all_passed() && are_claims_decided);
  }

  // What further pairs must measure; empty: all.
  std::set<std::string> undecided() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < samples_.names().size(); ++i) {
      if (test_->results()[i].trend == Trend::undecided) names.insert(samples_.names()[i]);
    }
    for (std::size_t i = 0; i < claimed_.size(); ++i) {
      if (claims_->results()[i].state != ClaimState::undecided) continue;
      // The mean needs all of them.
      if (claimed_[i].empty()) return {};
      names.insert(claimed_[i]);
    }
    if (names.size() == samples_.names().size()) names.clear();
    return names;
  }

  // Before anything is called slower: both trees are built once more with their functions at other
  // places, and the regressed benchmarks must be slower there too. A value names the next run.
  std::optional<Progress> confirm() {
    const Preparation preparation =
        prepare(context_, ordered_runs(context_, needed_runs(Variant::relinked)), {});
    if (preparation.next) return Progress{NextRun{*preparation.next}, {}, false, nullptr};
    if (preparation.failed != nullptr) {
      const Step* const step = context_.policy.find_step(preparation.failed->key.step);
      unconfirmed_ = fmt::format("not confirmed by a relinked build: {}",
                                 describe_fault(*step, *preparation.failed));
      return std::nullopt;
    }
    // Empty: it was the mean, for which all are measured.
    const std::set<std::string> only = regressed();
    PairSamples samples;
    for (int pair = 0; pair < kConfirmingPairs; ++pair) {
      if (!has_pair(pair, Variant::relinked)) {
        return Progress{
            NextPair{step_->name, other_, pair, Variant::relinked, {only.begin(), only.end()}},
            {},
            false,
            nullptr};
      }
      if (auto bad = take_pair(pair, Variant::relinked, true, only, samples)) return bad;
    }
    const double lower = margins_of(gate_.tolerance).lower;
    for (const std::string& name : samples.names()) {
      if (only.contains(name)) confirm_one(name, samples.series_of(name), lower);
    }
    if (only.empty()) {
      confirm_one(std::string(kGeometricMean), samples.geometric(), lower);
    }
    return std::nullopt;
  }

  void confirm_one(const std::string& name, std::span<const double> differences, double lower) {
    const double estimate = PairedSample(differences).estimate();
    confirmations_[name] = {estimate > lower, estimate};
  }

  std::set<std::string> regressed() const {
    std::set<std::string> names;
    for (std::size_t i = 0; i < samples_.names().size(); ++i) {
      if (test_->results()[i].trend == Trend::regressed) names.insert(samples_.names()[i]);
    }
    return names;
  }

  std::vector<NamedTrend> trends() {
    test_->estimate(samples_.series(), samples_.geometric());
    std::vector<NamedTrend> all;
    const auto add = [&](const std::string& name, const TrendResult& trend) {
      NamedTrend named{name, trend, std::nullopt};
      const auto found = confirmations_.find(name);
      if (found != confirmations_.end()) named.confirmation = found->second;
      all.push_back(std::move(named));
    };
    for (std::size_t i = 0; i < samples_.names().size(); ++i) {
      add(samples_.names()[i], test_->results()[i]);
    }
    // It is said where it alone decides.
    if (regressed().empty() && test_->geometric().trend == Trend::regressed) {
      add(std::string(kGeometricMean), test_->geometric());
    }
    return all;
  }

  Progress finish() {
    GateFindings findings;
    findings.trends = trends();
    findings.has_regressed = test_->has_regressed();
    for (std::size_t i = 0; i < claimed_.size(); ++i) {
      const auto key = claimed_[i].empty() ? gate_.name.str() : claimed_[i];
      findings.claims.push_back({key, claim_share(i), claims_->results()[i]});
    }
    findings.run = last_other_run_;
    findings.unconfirmed = unconfirmed_;
    findings.earlier = earlier_tests(context_, gate_);
    findings.notes = samples_.notes(step_->name.str(), last_other_run_);
    std::ranges::move(calibration_, std::back_inserter(findings.notes));
    conclude_benchmark(findings, gate_, result_);
    if (is_outside()) result_.assurance = outside_assurance(context_, gate_, other_);
    bound_reasons(result_.reasons);
    return Progress{NextNothing{}, std::move(result_), false, nullptr};
  }

  std::int64_t claim_share(std::size_t index) const {
    const std::string key = claimed_[index].empty()
                                ? gate_.name.str()
                                : fmt::format("{}/{}", gate_.name.str(), claimed_[index]);
    return context_.evidence.claims.faster.at(key);
  }

  const Context& context_;
  const tasks::Gate& gate_;
  Side other_;
  const Step* step_ = nullptr;
  GateResult result_;
  PairSamples samples_;
  std::optional<SequentialTest> test_;
  std::vector<std::string> claimed_;  // benchmark of each claim; empty: the geometric mean
  std::optional<ClaimTest> claims_;
  std::map<std::string, Confirmation> confirmations_;  // by name, of what regressed
  std::string unconfirmed_;                            // why nothing could be confirmed
  std::vector<Reason> calibration_;
  std::string last_other_run_;
  std::int64_t spent_ms_ = 0;  // by the processes of plain pairs
};

}  // namespace

Progress benchmark_progress(const Context& context, const tasks::Gate& gate) {
  return BenchmarkGate(context, gate).progress();
}

std::vector<BenchmarkSeries> benchmark_series(const Context& context, const tasks::Gate& gate) {
  BenchmarkGate running(context, gate);
  running.progress();
  return running.take_series();
}

}  // namespace gates
