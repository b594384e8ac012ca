#include "tests/support/gate_simulator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace tests {

namespace {

constexpr double kSignificant = 0.05;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return sum / (static_cast<double>(values.size()) - 1);
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

std::vector<double> exponentials(std::vector<double> values) {
  for (double& value : values) value = std::exp(value);
  return values;
}

NoiseProfile quiet_profile() {
  return {.name = "quiet",
          .white = 0.0060,
          .correlated = 0.004,
          .correlation = 0.9,
          .burst_start = 0.01,
          .burst_stay = 0.5,
          .burst_height = 0.02,
          .drift = 0.004,
          .period = 90,
          .mode = 0.006,
          .mode_chance = 0.2,
          .within = 0.002};
}

NoiseProfile shared_profile() {
  return {.name = "shared",
          .white = 0.022,
          .correlated = 0.02,
          .correlation = 0.9,
          .burst_start = 0.06,
          .burst_stay = 0.5,
          .burst_height = 0.16,
          .drift = 0.02,
          .period = 90,
          .mode = 0.02,
          .mode_chance = 0.2,
          .within = 0.008};
}

NoiseProfile busy_profile() {
  return {.name = "busy",
          .white = 0.055,
          .correlated = 0.08,
          .correlation = 0.9,
          .burst_start = 0.15,
          .burst_stay = 0.5,
          .burst_height = 0.45,
          .drift = 0.06,
          .period = 90,
          .mode = 0.05,
          .mode_chance = 0.2,
          .within = 0.03};
}

}  // namespace

const std::array<NoiseProfile, 3>& noise_profiles() {
  static const std::array<NoiseProfile, 3> kProfiles{quiet_profile(), shared_profile(),
                                                     busy_profile()};
  return kProfiles;
}

NoiseSource::NoiseSource(const NoiseProfile& profile, std::uint64_t seed)
    : profile_(profile), random_(seed) {
  correlated_ = normal(profile_.correlated);
  phase_ = uniform() * 2 * std::numbers::pi;
}

double NoiseSource::normal(double deviation) {
  return std::normal_distribution<double>(0.0, 1.0)(random_) * deviation;
}

double NoiseSource::uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

double NoiseSource::next_process() {
  const double keep = profile_.correlation;
  correlated_ = keep * correlated_ + normal(profile_.correlated * std::sqrt(1 - keep * keep));
  in_burst_ = uniform() < (in_burst_ ? profile_.burst_stay : profile_.burst_start);
  phase_ += 2 * std::numbers::pi / profile_.period;
  double time = normal(profile_.white) + correlated_ + profile_.drift * std::sin(phase_);
  if (in_burst_) {
    time += std::exponential_distribution<double>(1.0)(random_) * profile_.burst_height;
  }
  if (uniform() < profile_.mode_chance) time += profile_.mode;
  return time;
}

std::vector<double> NoiseSource::repetitions(int count) {
  const double shared = next_process();
  std::vector<double> times;
  for (int i = 0; i < count; ++i) times.push_back(shared + normal(profile_.within));
  return times;
}

std::vector<double> simulate_pairs(NoiseSource& source, double effect, int pairs,
                                   std::mt19937_64& coin) {
  const double shift = std::log1p(effect);
  std::vector<double> differences;
  for (int i = 0; i < pairs; ++i) {
    const double first = source.next_process();
    const double second = source.next_process();
    differences.push_back(shift + ((coin() & 1U) != 0 ? second - first : first - second));
  }
  return differences;
}

SimulatedGate simulate_gate(const NoiseProfile& profile, double effect, std::size_t benchmarks,
                            tasks::Share tolerance, std::uint64_t seed) {
  std::mt19937_64 coin(seed);
  std::vector<NoiseSource> sources;
  for (std::size_t i = 0; i < benchmarks; ++i) sources.emplace_back(profile, coin());
  gates::SequentialTest test({.margins = gates::margins_of(tolerance)}, benchmarks);
  std::vector<std::vector<double>> series(benchmarks);
  std::vector<double> geometric;
  for (const int pairs : gates::kLooks) {
    bool is_complete = true;
    for (std::size_t i = 0; i < benchmarks; ++i) {
      // What is decided is not measured further.
      if (test.results()[i].trend != gates::Trend::undecided) {
        is_complete = false;
        continue;
      }
      const int more = pairs - static_cast<int>(series[i].size());
      const auto added = simulate_pairs(sources[i], i == 0 ? effect : 0, more, coin);
      series[i].insert(series[i].end(), added.begin(), added.end());
    }
    for (std::size_t at = geometric.size(); is_complete && at < series[0].size(); ++at) {
      double sum = 0;
      for (const auto& each : series) sum += each[at];
      geometric.push_back(sum / static_cast<double>(benchmarks));
    }
    const std::vector<std::span<const double>> spans(series.begin(), series.end());
    test.look(pairs, spans, geometric);
    if (test.has_regressed() || test.is_all_passed()) break;
  }
  SimulatedGate gate;
  gate.is_blocked = test.has_regressed();
  gate.is_passed = test.is_all_passed();
  gate.first = test.results()[0].trend;
  for (const auto& each : series) {
    gate.mean_pairs += static_cast<double>(each.size()) / static_cast<double>(benchmarks);
  }
  gate.first_pairs = static_cast<int>(series[0].size());
  return gate;
}

double mann_whitney(std::span<const double> left, std::span<const double> right) {
  std::vector<std::pair<double, bool>> all;
  for (const double value : left) all.emplace_back(value, true);
  for (const double value : right) all.emplace_back(value, false);
  std::ranges::sort(all);
  double rank_sum = 0;
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const double rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    for (std::size_t at = i; at < end; ++at) rank_sum += all[at].second ? rank : 0;
    const auto tied = static_cast<double>(end - i);
    ties += tied * tied * tied - tied;
    i = end;
  }
  const auto m = static_cast<double>(left.size());
  const auto n = static_cast<double>(right.size());
  const double statistic = rank_sum - m * (m + 1) / 2;
  const double total = m + n;
  const double deviation = std::sqrt(m * n / 12 * (total + 1 - ties / (total * (total - 1))));
  if (!(deviation > 0)) return 1;
  const double distance = std::max(0.0, std::abs(statistic - m * n / 2) - 0.5) / deviation;
  return 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), distance));
}

double welch(std::span<const double> left, std::span<const double> right) {
  const double a = variance(left) / static_cast<double>(left.size());
  const double b = variance(right) / static_cast<double>(right.size());
  if (!(a + b > 0)) return 1;
  const double freedom = (a + b) * (a + b) /
                         (a * a / (static_cast<double>(left.size()) - 1) +
                          b * b / (static_cast<double>(right.size()) - 1));
  const double statistic = std::abs(mean(left) - mean(right)) / std::sqrt(a + b);
  const boost::math::students_t distribution(freedom);
  return 2 * boost::math::cdf(boost::math::complement(distribution, statistic));
}

OtherWays simulate_other_ways(const NoiseProfile& profile, double effect, std::uint64_t seed) {
  constexpr int kFew = 10;
  constexpr int kMany = 20;
  const double shift = std::log1p(effect);
  NoiseSource source(profile, seed);
  std::vector<double> base;
  std::vector<double> other;
  for (int i = 0; i < kMany; ++i) {
    base.push_back(std::exp(source.next_process()));
    other.push_back(std::exp(source.next_process() + shift));
  }
  const std::span<const double> few_base = std::span(base).first(kFew);
  const std::span<const double> few_other = std::span(other).first(kFew);
  std::vector<double> one_base = exponentials(source.repetitions(kFew));
  std::vector<double> one_other = source.repetitions(kFew);
  for (double& time : one_other) time = std::exp(time + shift);
  const auto is_slower = [](std::span<const double> left, std::span<const double> right) {
    return median({right.begin(), right.end()}) > median({left.begin(), left.end()});
  };
  OtherWays ways;
  ways.threshold = mean(few_other) > 1.05 * mean(few_base);
  ways.compare_py =
      mann_whitney(one_base, one_other) < kSignificant && is_slower(one_base, one_other);
  ways.u_interleaved =
      mann_whitney(few_base, few_other) < kSignificant && is_slower(few_base, few_other);
  ways.benchstat = mann_whitney(base, other) < kSignificant && is_slower(base, other);
  ways.welch = welch(few_base, few_other) < kSignificant && mean(few_other) > mean(few_base);
  return ways;
}

}  // namespace tests
