#include "gates/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "sandbox/os/result.h"

namespace gates {

namespace {

// Makes the median absolute deviation of a normal distribution its standard deviation:
// 1/Phi^-1(3/4).
constexpr double kNormalDeviation = 1.4826;

// Probability of each value 0..n(n+1)/2 of the rank sum: rank after rank is added or not.
std::vector<double> null_distribution(int pairs) {
  const auto most = static_cast<std::size_t>(pairs) * (static_cast<std::size_t>(pairs) + 1) / 2;
  std::vector<double> probability(most + 1, 0.0);
  probability[0] = 1.0;
  std::size_t reached = 0;
  for (std::size_t rank = 1; rank <= static_cast<std::size_t>(pairs); ++rank) {
    reached += rank;
    for (std::size_t sum = reached + 1; sum-- > 0;) {
      const double with = sum >= rank ? probability[sum - rank] : 0.0;
      probability[sum] = 0.5 * (probability[sum] + with);
    }
  }
  return probability;
}

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return sorted[half];
  return 0.5 * (sorted[half - 1] + sorted[half]);
}

}  // namespace

double signed_rank_probability(int pairs, int rank_sum) {
  os::check(pairs >= 1 && pairs <= kMaxPairs, "signed rank: 1..128 pairs");
  if (rank_sum < 0) return 0.0;
  const std::vector<double> probability = null_distribution(pairs);
  double sum = 0.0;
  for (std::size_t k = 0; k < probability.size() && k <= static_cast<std::size_t>(rank_sum); ++k) {
    sum += probability[k];
  }
  return sum;
}

int signed_rank_quantile(int pairs, double level) {
  os::check(pairs >= 1 && pairs <= kMaxPairs, "signed rank: 1..128 pairs");
  const std::vector<double> probability = null_distribution(pairs);
  double sum = 0.0;
  int quantile = -1;
  for (const double share : probability) {
    sum += share;
    if (sum > level) break;
    ++quantile;
  }
  // A level of one or more excludes nothing; the bounds then meet in the middle at the latest.
  return std::min(quantile, static_cast<int>(probability.size()) - 2);
}

PairedSample::PairedSample(std::span<const double> differences)
    : pairs_(static_cast<int>(differences.size())),
      differences_(differences.begin(), differences.end()) {
  os::check(pairs_ >= 1 && pairs_ <= kMaxPairs, "a sample has 1..128 pairs");
  std::ranges::sort(differences_);
  walsh_.reserve(differences_.size() * (differences_.size() + 1) / 2);
  for (std::size_t i = 0; i < differences_.size(); ++i) {
    for (std::size_t j = i; j < differences_.size(); ++j) {
      walsh_.push_back(0.5 * (differences_[i] + differences_[j]));
    }
  }
  std::ranges::sort(walsh_);
}

double PairedSample::estimate() const { return median_of_sorted(walsh_); }

double PairedSample::lower(double level) const {
  const int quantile = signed_rank_quantile(pairs_, level);
  if (quantile < 0) return -std::numeric_limits<double>::infinity();
  return walsh_[static_cast<std::size_t>(quantile)];
}

double PairedSample::upper(double level) const {
  const int quantile = signed_rank_quantile(pairs_, level);
  if (quantile < 0) return std::numeric_limits<double>::infinity();
  return walsh_[walsh_.size() - 1 - static_cast<std::size_t>(quantile)];
}

double PairedSample::spread() const {
  const double middle = median_of_sorted(differences_);
  std::vector<double> distances;
  distances.reserve(differences_.size());
  for (const double difference : differences_) distances.push_back(std::abs(difference - middle));
  std::ranges::sort(distances);
  return kNormalDeviation * median_of_sorted(distances);
}

}  // namespace gates
