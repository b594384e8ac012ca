// SequentialTest: three verdicts on series of log ratios, one a benchmark, looked at again and
// again while pairs come in. Knows nothing of where the figures come from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tasks/policy.h"

namespace gates {

// Numbers of pairs at which a series is looked at; the last is the most that is asked for.
inline constexpr std::array<int, 8> kLooks{8, 12, 16, 24, 32, 48, 64, 96};

// Probability that a benchmark slower by the tolerance or more passes; spent evenly over the looks
// (union bound, so nothing is assumed of their dependence).
inline constexpr double kPassError = 0.05;
// Probability that a gate in which nothing is slower by more than the lower margin fails; spent
// evenly over the looks from kFirstRegressLook on, at each look by Holm over the benchmarks. With
// more than one benchmark a quarter of it is the geometric mean's.
inline constexpr double kRegressError = 0.01;
inline constexpr int kFirstRegressLook = 16;
inline constexpr double kGeometricShare = 0.25;
// Probability that any claim of an improvement is believed wrongly, over all looks and claims.
inline constexpr double kClaimError = 0.01;

// Margins of a test as log ratios.
struct Margins {
  double lower = 0;      // noise and layout: ln(1 + tolerance / 6)
  double upper = 0;      // ln(1 + tolerance)
  double geometric = 0;  // of the geometric mean: ln(1 + tolerance / 3)
};
Margins margins_of(tasks::Share tolerance);

// What of an error rate the next test of a series of retries may spend: the first 1, then 1/3, 1/6,
// 1/10 … (2 / ((n+1)(n+2)) after n earlier ones), so that endlessly many spend twice the rate.
double spending_share(std::int64_t earlier);

enum class Trend : std::uint8_t { undecided, passed, regressed };

// What differences (ln other − ln base, one a pair, in the order of the pairs) say of a benchmark,
// as of the look at which it was decided, or the last one reached.
struct TrendResult {
  Trend trend = Trend::undecided;
  int pairs = 0;        // 0: no look was reached
  double estimate = 0;  // ratio other / base, Hodges–Lehmann; set by estimate()
  double low = 0;       // bounds of the ratio, at the levels of the decision; likewise
  double high = 0;
  double spread = 0;      // robust standard deviation of the log ratio of a pair
  double detectable = 0;  // slow-down (0.024: 2.4 %) that is found in four of five cases by kLooks'
                          // last look, given the spread
  int outliers = 0;       // see PairedSample
};

struct TestPlan {
  Margins margins;
  std::int64_t earlier = 0;          // tests that this one is a retry of: see spending_share
  bool passes_undetectable = false;  // may pass though `detectable` is over the tolerance
  double max_spread = 0;             // series that spread by more stay undecided; 0: no bound
};

class SequentialTest {
 public:
  SequentialTest(const TestPlan& plan, std::size_t benchmarks);

  // Looks at the first `pairs` (a member of kLooks) differences of each series that is undecided
  // and long enough; a decided one keeps its result. `geometric`: the mean of all series, pair by
  // pair; it can only regress.
  void look(int pairs, std::span<const std::span<const double>> series,
            std::span<const double> geometric);

  // Sets estimate and bounds of every result from the differences that its last look saw: looking
  // alone does not need them. Arguments as in look().
  void estimate(std::span<const std::span<const double>> series, std::span<const double> geometric);

  // In the order of the series.
  const std::vector<TrendResult>& results() const { return results_; }
  const TrendResult& geometric() const { return geometric_; }
  bool is_all_passed() const;
  bool has_regressed() const;

 private:
  TrendResult examine(std::span<const double> differences, double regress_level,
                      double lower) const;
  void estimate_one(std::span<const double> series, double regress_level,
                    TrendResult& result) const;

  TestPlan plan_;
  double pass_level_ = 0;       // of one look
  double regress_level_ = 0;    // of one look, for all benchmarks together
  double geometric_level_ = 0;  // of one look
  std::vector<TrendResult> results_;
  TrendResult geometric_;
};

// The smallest slow-down that is found in four of five cases with so many pairs of that spread, as
// a share: lower margin plus (z(1 - level) + z(.8)) 1.02 spread / sqrt(pairs), 1.02 for the
// efficiency of the signed-rank test.
double detectable_slowdown(double spread, int pairs, double level, double lower);

enum class ClaimState : std::uint8_t { undecided, held, refuted };

// A claim that something became faster by at least `share` (0.05: 5 %), that is, that its ratio is
// at most 1 / (1 + share). A point estimate is not enough: the bound must lie beyond.
struct ClaimResult {
  ClaimState state = ClaimState::undecided;
  int pairs = 0;
  double estimate = 0;  // ratio
  double low = 0;
  double high = 0;
};

class ClaimTest {
 public:
  // `shares`: one a claim, each over 0; `earlier` as in TestPlan.
  ClaimTest(std::vector<double> shares, std::int64_t earlier);
  // As SequentialTest::look; held by Holm over the claims at kClaimError, refuted each at
  // kPassError.
  void look(int pairs, std::span<const std::span<const double>> series);
  const std::vector<ClaimResult>& results() const { return results_; }
  bool is_decided() const;

 private:
  std::vector<double> shares_;
  double level_ = 0;  // of one look
  std::vector<ClaimResult> results_;
};

}  // namespace gates
