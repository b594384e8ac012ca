#include "gates/sequential_test.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "gates/statistics.h"
#include "tasks/policy.h"

namespace gates {

namespace {

constexpr auto kLookCount = static_cast<double>(kLooks.size());
// Looks at which a regression can be found: {16, 24, 32, 48, 64, 96}.
constexpr auto kRegressLookCount = static_cast<double>(
    std::ranges::count_if(kLooks, [](int pairs) { return pairs >= kFirstRegressLook; }));
// Power for which the smallest detectable effect is told.
constexpr double kPower = 0.8;
// Standard error of Hodges–Lehmann over that of the mean, for normal differences: sqrt(pi / 3).
constexpr double kRankEfficiency = 1.02;

bool is_too_wide(const TestPlan& plan, const TrendResult& result) {
  return plan.max_spread > 0 && result.spread > plan.max_spread;
}

bool is_ready(const TrendResult& result, std::span<const double> series, int pairs) {
  return result.trend == Trend::undecided && series.size() >= static_cast<std::size_t>(pairs);
}

}  // namespace

Margins margins_of(tasks::Share tolerance) {
  const double share = static_cast<double>(tolerance.millionths) / 1e6;
  return {std::log1p(share / 6), std::log1p(share), std::log1p(share / 3)};
}

double spending_share(std::int64_t earlier) {
  const auto before = static_cast<double>(std::max<std::int64_t>(earlier, 0));
  return 2 / ((before + 1) * (before + 2));
}

double detectable_slowdown(double spread, int pairs, double level, double lower) {
  const double units = normal_quantile(1 - level) + normal_quantile(kPower);
  return std::expm1(lower + units * kRankEfficiency * spread / std::sqrt(pairs));
}

SequentialTest::SequentialTest(const TestPlan& plan, std::size_t benchmarks)
    : plan_(plan),
      pass_level_(kPassError * spending_share(plan.earlier) / kLookCount),
      results_(benchmarks) {
  const double geometric = benchmarks > 1 ? kGeometricShare : 0;
  regress_level_ = kRegressError * (1 - geometric) / kRegressLookCount;
  geometric_level_ = kRegressError * geometric / kRegressLookCount;
}

void SequentialTest::estimate_one(std::span<const double> series, double regress_level,
                                  TrendResult& result) const {
  if (result.pairs == 0) return;
  const PairedSample sample(series.first(static_cast<std::size_t>(result.pairs)));
  const double low = sample.lower(regress_level);
  const double high = sample.upper(pass_level_);
  // What is shown stays finite where few pairs say nothing at the level of the decision.
  const double fallback = 1.0 / std::exp2(sample.pairs());
  result.estimate = std::exp(sample.estimate());
  result.low = std::exp(std::isfinite(low) ? low : sample.lower(fallback));
  result.high = std::exp(std::isfinite(high) ? high : sample.upper(fallback));
}

void SequentialTest::estimate(std::span<const std::span<const double>> series,
                              std::span<const double> geometric) {
  const double single_level = regress_level_ / static_cast<double>(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    estimate_one(series[i], single_level, results_[i]);
  }
  estimate_one(geometric, geometric_level_, geometric_);
}

TrendResult SequentialTest::examine(std::span<const double> differences, double regress_level,
                                    double lower) const {
  const PairedSample sample(differences);
  TrendResult result;
  result.pairs = sample.pairs();
  result.spread = sample.spread();
  result.detectable = detectable_slowdown(result.spread, kLooks.back(), regress_level, lower);
  result.outliers = sample.outliers();
  const bool is_told =
      plan_.passes_undetectable || std::log1p(result.detectable) <= plan_.margins.upper;
  if (is_told && !is_too_wide(plan_, result) &&
      sample.chance_below(plan_.margins.upper) <= pass_level_) {
    result.trend = Trend::passed;
  }
  return result;
}

void SequentialTest::look(int pairs, std::span<const std::span<const double>> series,
                          std::span<const double> geometric) {
  const auto count = static_cast<std::size_t>(pairs);
  const double single_level = regress_level_ / static_cast<double>(results_.size());
  // What passed counts with chance 1; what regressed is rejected already.
  std::vector<double> chances(results_.size(), 1.0);
  std::vector<bool> is_open(results_.size(), false);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].trend == Trend::regressed) chances[i] = 0;
    if (!is_ready(results_[i], series[i], pairs)) continue;
    const std::span<const double> seen = series[i].first(count);
    results_[i] = examine(seen, single_level, plan_.margins.lower);
    is_open[i] = results_[i].trend == Trend::undecided && !is_too_wide(plan_, results_[i]);
    if (is_open[i]) chances[i] = PairedSample(seen).chance_above(plan_.margins.lower);
  }
  if (pairs < kFirstRegressLook) return;
  const std::vector<bool> rejected = holm_rejections(chances, regress_level_);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (is_open[i] && rejected[i]) results_[i].trend = Trend::regressed;
  }
  if (results_.size() < 2 || !is_ready(geometric_, geometric, pairs)) return;
  const std::span<const double> seen = geometric.first(count);
  geometric_ = examine(seen, geometric_level_, plan_.margins.geometric);
  const bool is_slower =
      PairedSample(seen).chance_above(plan_.margins.geometric) <= geometric_level_;
  // It has no say in passing.
  geometric_.trend = is_slower ? Trend::regressed : Trend::undecided;
}

bool SequentialTest::is_all_passed() const {
  return std::ranges::all_of(
      results_, [](const TrendResult& result) { return result.trend == Trend::passed; });
}

bool SequentialTest::has_regressed() const {
  const auto is_slower = [](const TrendResult& result) { return result.trend == Trend::regressed; };
  return is_slower(geometric_) || std::ranges::any_of(results_, is_slower);
}

ClaimTest::ClaimTest(std::vector<double> shares, std::int64_t earlier)
    : shares_(std::move(shares)),
      level_(kClaimError * spending_share(earlier) / kLookCount),
      results_(shares_.size()) {}

void ClaimTest::look(int pairs, std::span<const std::span<const double>> series) {
  const auto count = static_cast<std::size_t>(pairs);
  std::vector<double> chances(results_.size(), 1.0);
  std::vector<bool> is_open(results_.size(), false);
  const double single_level = level_ / static_cast<double>(results_.size());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    ClaimResult& result = results_[i];
    if (result.state == ClaimState::held) chances[i] = 0;
    if (result.state != ClaimState::undecided || series[i].size() < count) continue;
    const PairedSample sample(series[i].first(count));
    const double target = -std::log1p(shares_[i]);
    const double refute_level = kPassError / kLookCount;
    const double high = sample.upper(single_level);
    const double fallback = 1.0 / std::exp2(sample.pairs());
    result = {ClaimState::undecided, pairs, std::exp(sample.estimate()),
              std::exp(sample.lower(refute_level)),
              std::exp(std::isfinite(high) ? high : sample.upper(fallback))};
    if (sample.chance_above(target) <= refute_level) {
      result.state = ClaimState::refuted;
    } else {
      is_open[i] = true;
      chances[i] = sample.chance_below(target);
    }
  }
  const std::vector<bool> held = holm_rejections(chances, level_);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (is_open[i] && held[i]) results_[i].state = ClaimState::held;
  }
}

bool ClaimTest::is_decided() const {
  return std::ranges::none_of(
      results_, [](const ClaimResult& result) { return result.state == ClaimState::undecided; });
}

}  // namespace gates
