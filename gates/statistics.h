// Statistics of paired measurements: Hodges–Lehmann and the exact signed-rank interval, Holm's
// procedure, the interval of a proportion. Values in, values out; deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gates {

// The most pairs that the exact null distribution is computed for.
inline constexpr int kMaxPairs = 128;

// P(T+ <= rank_sum) of Wilcoxon's signed-rank statistic of `pairs` values (1..kMaxPairs) whose
// signs are fair coins: exact, by dynamic programming over the 2^pairs sign patterns.
double signed_rank_probability(int pairs, int rank_sum);

// The greatest k with P(T+ <= k) <= level, -1 if there is none (Wilcoxon, Biometrics Bulletin 1,
// 1945; tables: McCornack, JASA 60, 1965).
int signed_rank_quantile(int pairs, double level);

// Differences of pairs, prepared for estimating their centre. Zeros and ties need no correction:
// the bounds are order statistics compared strictly, so that whatever is tied counts against the
// claim. (Breaking ties by any rule that does not look at signs gives the exact null distribution
// and a rank sum at least as favourable; the levels are thus never exceeded.)
class PairedSample {
 public:
  // 1..kMaxPairs differences, finite.
  explicit PairedSample(std::span<const double> differences);

  int pairs() const { return static_cast<int>(differences_.size()); }
  // Hodges–Lehmann: the median of all Walsh averages (d[i] + d[j]) / 2, i <= j.
  double estimate() const;
  // One-sided confidence bounds: the true centre lies below lower(level), or above upper(level),
  // with probability at most `level`. Infinite where so few pairs cannot tell at that level.
  double lower(double level) const;
  double upper(double level) const;
  // The levels at which a bound excludes `margin`: lower(level) > margin exactly if
  // level >= chance_above(margin), upper(level) < margin exactly if level >= chance_below(margin).
  double chance_above(double margin) const;
  double chance_below(double margin) const;
  // 1.4826 times the median absolute deviation from the median: the standard deviation of normal
  // differences, unmoved by outliers.
  double spread() const;
  // How many differences lie further than 6 median absolute deviations from the median. They are
  // counted and kept: leaving values out after having seen them would spoil the levels.
  int outliers() const;

 private:
  std::vector<double> walsh_averages() const;  // not sorted
  // Walsh averages whose doubled value satisfies a predicate that holds for the smaller ones.
  template <class Predicate>
  int count_averages(Predicate is_counted) const;
  std::vector<double> differences_;  // sorted
};

// Which hypotheses Holm's step-down procedure rejects so that any is rejected wrongly with
// probability at most `level`, whatever their dependence (Holm, Scand. J. Statist. 6, 1979).
std::vector<bool> holm_rejections(std::span<const double> chances, double level);

// Bounds of a proportion.
struct Proportion {
  double low = 0;
  double high = 1;
};
// The exact two-sided interval of the proportion behind `successes` of `trials` (trials >= 1) at
// `confidence` (0.95: each side misses with at most .025); Clopper and Pearson, Biometrika 26,
// 1934.
Proportion clopper_pearson(std::int64_t successes, std::int64_t trials, double confidence);

// z with P(Z <= z) = probability, of the standard normal distribution; 0 < probability < 1.
double normal_quantile(double probability);

}  // namespace gates
