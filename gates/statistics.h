// Statistics of paired measurements: Hodges–Lehmann and the exact signed-rank interval.
// Values in, values out; deterministic.
#pragma once

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

  int pairs() const { return pairs_; }
  // Hodges–Lehmann: the median of all Walsh averages (d[i] + d[j]) / 2, i <= j.
  double estimate() const;
  // One-sided confidence bounds: the true centre lies below lower(level), or above upper(level),
  // with probability at most `level`. Infinite where so few pairs cannot tell at that level.
  double lower(double level) const;
  double upper(double level) const;
  // 1.4826 times the median absolute deviation from the median: the standard deviation of normal
  // differences, unmoved by outliers.
  double spread() const;

 private:
  int pairs_ = 0;
  std::vector<double> differences_;  // sorted
  std::vector<double> walsh_;        // sorted
};

}  // namespace gates
