#include "gates/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/normal.hpp>

#include "sandbox/os/result.h"

namespace gates {

namespace {

// Makes the median absolute deviation of a normal distribution its standard deviation:
// 1/Phi^-1(3/4).
constexpr double kNormalDeviation = 1.4826;
constexpr double kOutlierDeviations = 6;

// P(T+ <= k) for k = 0..n(n+1)/2, for each n = 0..kMaxPairs: rank after rank is added or not.
std::vector<std::vector<double>> make_cumulative_tables() {
  std::vector<std::vector<double>> tables;
  std::vector<double> probability{1.0};
  for (std::size_t rank = 0; rank <= static_cast<std::size_t>(kMaxPairs); ++rank) {
    if (rank > 0) {
      probability.resize(probability.size() + rank, 0.0);
      for (std::size_t sum = probability.size(); sum-- > 0;) {
        const double with = sum >= rank ? probability[sum - rank] : 0.0;
        probability[sum] = 0.5 * (probability[sum] + with);
      }
    }
    std::vector<double> cumulative(probability.size());
    std::partial_sum(probability.begin(), probability.end(), cumulative.begin());
    tables.push_back(std::move(cumulative));
  }
  return tables;
}

const std::vector<double>& cumulative_table(int pairs) {
  os::check(pairs >= 1 && pairs <= kMaxPairs, "signed rank: 1..128 pairs");
  static const std::vector<std::vector<double>> kTables = make_cumulative_tables();
  return kTables[static_cast<std::size_t>(pairs)];
}

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[half];
  return 0.5 * (sorted[half - 1] + sorted[half]);
}

double ranked(std::vector<double> values, std::size_t rank) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
  std::ranges::nth_element(values, place);
  return *place;
}

// Distances from the median, sorted.
std::vector<double> deviations(std::span<const double> sorted) {
  const double middle = median_of_sorted(sorted);
  std::vector<double> distances;
  distances.reserve(sorted.size());
  for (const double value : sorted) distances.push_back(std::abs(value - middle));
  std::ranges::sort(distances);
  return distances;
}

std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [values](std::size_t i) { return values[i]; });
  return order;
}

}  // namespace

double signed_rank_probability(int pairs, int rank_sum) {
  const std::vector<double>& cumulative = cumulative_table(pairs);
  if (rank_sum < 0) return 0.0;
  return cumulative[std::min(static_cast<std::size_t>(rank_sum), cumulative.size() - 1)];
}

int signed_rank_quantile(int pairs, double level) {
  const std::vector<double>& cumulative = cumulative_table(pairs);
  const auto first_over = std::ranges::upper_bound(cumulative, level);
  const auto quantile = static_cast<int>(first_over - cumulative.begin()) - 1;
  // A level of one or more excludes nothing; the bounds then meet in the middle at the latest.
  return std::min(quantile, static_cast<int>(cumulative.size()) - 2);
}

PairedSample::PairedSample(std::span<const double> differences)
    : differences_(differences.begin(), differences.end()) {
  os::check(pairs() >= 1 && pairs() <= kMaxPairs, "a sample has 1..128 pairs");
  std::ranges::sort(differences_);
}

std::vector<double> PairedSample::walsh_averages() const {
  std::vector<double> averages;
  averages.reserve(differences_.size() * (differences_.size() + 1) / 2);
  for (std::size_t i = 0; i < differences_.size(); ++i) {
    for (std::size_t j = i; j < differences_.size(); ++j) {
      averages.push_back(0.5 * (differences_[i] + differences_[j]));
    }
  }
  return averages;
}

template <class Predicate>
int PairedSample::count_averages(Predicate is_counted) const {
  int count = 0;
  // With each value go the first so many of those up to it; ever fewer, as values grow.
  std::size_t end = differences_.size();
  for (std::size_t i = 0; i < differences_.size() && i < end; ++i) {
    while (end > i && !is_counted(differences_[i] + differences_[end - 1])) --end;
    count += static_cast<int>(end - std::min(end, i));
  }
  return count;
}

double PairedSample::estimate() const {
  std::vector<double> averages = walsh_averages();
  std::ranges::sort(averages);
  return median_of_sorted(averages);
}

double PairedSample::lower(double level) const {
  const int quantile = signed_rank_quantile(pairs(), level);
  if (quantile < 0) return -std::numeric_limits<double>::infinity();
  return ranked(walsh_averages(), static_cast<std::size_t>(quantile));
}

double PairedSample::upper(double level) const {
  const int quantile = signed_rank_quantile(pairs(), level);
  if (quantile < 0) return std::numeric_limits<double>::infinity();
  std::vector<double> averages = walsh_averages();
  const std::size_t rank = averages.size() - 1 - static_cast<std::size_t>(quantile);
  return ranked(std::move(averages), rank);
}

double PairedSample::chance_above(double margin) const {
  return signed_rank_probability(
      pairs(), count_averages([margin](double sum) { return sum <= 2 * margin; }));
}

double PairedSample::chance_below(double margin) const {
  const int averages = pairs() * (pairs() + 1) / 2;
  const int below = count_averages([margin](double sum) { return sum < 2 * margin; });
  return signed_rank_probability(pairs(), averages - below);
}

double PairedSample::spread() const {
  return kNormalDeviation * median_of_sorted(deviations(differences_));
}

int PairedSample::outliers() const {
  const std::vector<double> distances = deviations(differences_);
  const double far = kOutlierDeviations * median_of_sorted(distances);
  return static_cast<int>(
      std::ranges::count_if(distances, [far](double distance) { return distance > far; }));
}

std::vector<bool> holm_rejections(std::span<const double> chances, double level) {
  std::vector<bool> rejected(chances.size(), false);
  std::size_t left = chances.size();
  for (const std::size_t i : order_of(chances)) {
    if (!(chances[i] <= level / static_cast<double>(left))) break;
    rejected[i] = true;
    --left;
  }
  return rejected;
}

Proportion clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence) {
  os::check(trials >= 1 && successes >= 0 && successes <= trials, "a proportion of trials");
  using boost::math::binomial_distribution;
  const double side = (1 - confidence) / 2;
  const auto all = static_cast<double>(trials);
  const auto good = static_cast<double>(successes);
  Proportion bounds;
  bounds.low = binomial_distribution<>::find_lower_bound_on_p(all, good, side);
  bounds.high =
      successes == trials ? 1 : binomial_distribution<>::find_upper_bound_on_p(all, good, side);
  return bounds;
}

double normal_quantile(double probability) {
  return boost::math::quantile(boost::math::normal_distribution<>(), probability);
}

}  // namespace gates
