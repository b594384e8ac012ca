#include "gates/sequential_test.h"

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/gate_simulator.h"

namespace {

using gates::ClaimState;
using gates::ClaimTest;
using gates::SequentialTest;
using gates::TestPlan;
using gates::Trend;

constexpr tasks::Share kTenPercent{100'000};

// One benchmark's result after all looks that its differences allow.
gates::TrendResult trend_of(const std::vector<double>& differences, const TestPlan& plan,
                            std::size_t benchmarks = 1) {
  SequentialTest test(plan, benchmarks);
  const std::vector<std::span<const double>> series(benchmarks, differences);
  for (const int pairs : gates::kLooks) test.look(pairs, series, {});
  test.estimate(series, {});
  return test.results().front();
}
TestPlan plan() { return {.margins = gates::margins_of(kTenPercent)}; }

TEST(SequentialTest, IsUndecidedBeforeTheFirstLook) {
  const gates::TrendResult trend = trend_of(std::vector<double>(7, 0.0), plan());
  EXPECT_EQ(trend.trend, Trend::undecided);
  EXPECT_EQ(trend.pairs, 0);
}

TEST(SequentialTest, CallsWhatIsSurelyOverTheLowerMarginARegressionUnlessItIsSurelyWithin) {
  std::vector<double> between;
  for (int i = 0; i < 48; ++i) between.push_back(std::log(i % 2 == 0 ? 1.04 : 1.14));
  const gates::TrendResult trend = trend_of(between, plan());
  EXPECT_EQ(trend.trend, Trend::regressed);
  EXPECT_EQ(trend.pairs, 16);
  EXPECT_LT(trend.low, 1.1);
  EXPECT_GT(trend.high, 1.1);
}

TEST(SequentialTest, NeedsMorePairsForMoreBenchmarks) {
  // One of many is slower: Holm gives the first one level / benchmarks.
  const std::vector<double> slow(96, 1.0);
  const std::vector<double> calm(96, 0.0);
  const auto pairs_among = [&](std::size_t benchmarks) {
    SequentialTest test(plan(), benchmarks);
    std::vector<std::span<const double>> series(benchmarks, calm);
    series.front() = slow;
    for (const int pairs : gates::kLooks) test.look(pairs, series, {});
    return test.results().front().pairs;
  };
  EXPECT_EQ(pairs_among(2), 16);
  // 2^-16 is over .75 * 1% / (6 * 1000).
  EXPECT_EQ(pairs_among(1000), 24);
}

TEST(SequentialTest, GivesTheNextHypothesisMoreOfTheErrorRateOnceOneIsRejected) {
  // 2^-16 = 1.5e-5 is over 1.25e-3 / 100 but within 1.25e-3 / 50: Bonferroni would call none of a
  // hundred slower at 16 pairs, nor would Holm; among fifty both are called.
  const std::vector<double> slow(16, 1.0);
  SequentialTest many(plan(), 100);
  many.look(16, std::vector<std::span<const double>>(100, slow), {});
  EXPECT_EQ(many.results().front().trend, Trend::undecided);
  SequentialTest fewer(plan(), 50);
  fewer.look(16, std::vector<std::span<const double>>(50, slow), {});
  EXPECT_EQ(fewer.results().front().trend, Trend::regressed);
}

TEST(SequentialTest, KeepsADecisionWhateverComesLater) {
  SequentialTest test(plan(), 1);
  const std::vector<double> calm(8, 0.0);
  test.look(8, std::vector<std::span<const double>>{calm}, {});
  ASSERT_EQ(test.results().front().trend, Trend::passed);
  const std::vector<double> slow(96, 1.0);
  test.look(96, std::vector<std::span<const double>>{slow}, {});
  EXPECT_EQ(test.results().front().trend, Trend::passed);
  EXPECT_EQ(test.results().front().pairs, 8);
}

TEST(SequentialTest, FindsASlowDownOfTheMeanThatNoBenchmarkShows) {
  // Thirty benchmarks, each 2 % slower, each noisy; their mean is not.
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0.02, 0.15);
  std::vector<std::vector<double>> values(30, std::vector<double>(96));
  std::vector<double> mean(96, 0.0);
  for (std::vector<double>& one : values) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      one[i] = noise(random);
      mean[i] += one[i] / 30;
    }
  }
  SequentialTest test(plan(), values.size());
  const std::vector<std::span<const double>> series(values.begin(), values.end());
  for (const int pairs : gates::kLooks) test.look(pairs, series, mean);
  for (const auto& result : test.results()) EXPECT_NE(result.trend, Trend::regressed);
  // The mean's margin is 10 % / 3: it has 2 % and then 7 %.
  EXPECT_EQ(test.geometric().trend, Trend::undecided);
  for (double& value : mean) value += 0.05;
  SequentialTest slower(plan(), values.size());
  for (const int pairs : gates::kLooks) slower.look(pairs, series, mean);
  EXPECT_EQ(slower.geometric().trend, Trend::regressed);
}

TEST(SequentialTest, LetsNothingPassWhereTheToleranceCouldBeMissed) {
  // The centre is far below, but the spread is such that +10 % would hardly be found.
  std::vector<double> wild;
  for (int i = 0; i < 96; ++i) wild.push_back(-0.6 + (i % 2 == 0 ? 0.3 : -0.3) + 0.001 * i);
  const gates::TrendResult trend = trend_of(wild, plan());
  EXPECT_EQ(trend.trend, Trend::undecided);
  EXPECT_GT(trend.detectable, 0.1);
  TestPlan bold = plan();
  bold.passes_undetectable = true;
  EXPECT_EQ(trend_of(wild, bold).trend, Trend::passed);
}

TEST(SequentialTest, DecidesNothingOverTheGreatestSpread) {
  std::vector<double> wide;
  for (int i = 0; i < 96; ++i) wide.push_back(0.5 + (i % 2 == 0 ? 0.05 : -0.05) + 1e-4 * i);
  EXPECT_EQ(trend_of(wide, plan()).trend, Trend::regressed);
  TestPlan strict = plan();
  strict.max_spread = 0.04;
  EXPECT_EQ(trend_of(wide, strict).trend, Trend::undecided);
}

TEST(Spending, OfEndlesslyManyRetriesIsTwiceTheRate) {
  EXPECT_EQ(gates::spending_share(0), 1.0);
  EXPECT_DOUBLE_EQ(gates::spending_share(1), 1.0 / 3);
  double sum = 0;
  for (int earlier = 0; earlier < 100'000; ++earlier) sum += gates::spending_share(earlier);
  EXPECT_LT(sum, 2.0);
  EXPECT_GT(sum, 1.9999);
}

TEST(SequentialTest, ARetryNeedsMoreToPass) {
  const std::vector<double> calm(96, 0.0);
  TestPlan retry = plan();
  EXPECT_EQ(trend_of(calm, retry).pairs, 8);
  // 2^-8 is over 5% / (8 * 3).
  retry.earlier = 1;
  EXPECT_EQ(trend_of(calm, retry).pairs, 12);
  retry.earlier = 1000;
  EXPECT_EQ(trend_of(calm, retry).pairs, 32);
}

TEST(DetectableSlowdown, IsThatOfTheFormula) {
  // Of 20 benchmarks over six looks at 1 %: z = 3.765, and .842 for the power.
  const double level = gates::kRegressError / (20 * 6);
  const auto logarithm = [level](double spread) {
    return std::log1p(gates::detectable_slowdown(spread, 96, level, std::log1p(0.005)));
  };
  EXPECT_NEAR(logarithm(0.04), 0.0242, 1e-4);
  EXPECT_NEAR(logarithm(0.10), 0.0529, 1e-4);
}

ClaimState claim_of(double truth, double claimed, double spread, std::uint64_t seed,
                    std::int64_t earlier = 0) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(-std::log1p(truth), spread);
  std::vector<double> differences(96);
  for (double& difference : differences) difference = noise(random);
  ClaimTest test({claimed}, earlier);
  for (const int pairs : gates::kLooks) {
    test.look(pairs, std::vector<std::span<const double>>{differences});
  }
  return test.results().front().state;
}

TEST(ClaimTest, AcceptsTenPercentForAClaimOfFiveAndHardlyEverFiveItself) {
  int held = 0;
  int wrongly = 0;
  int refuted = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    held += claim_of(0.10, 0.05, 0.04, seed) == ClaimState::held ? 1 : 0;
    wrongly += claim_of(0.05, 0.05, 0.04, seed) == ClaimState::held ? 1 : 0;
    refuted += claim_of(0.0, 0.05, 0.04, seed) == ClaimState::refuted ? 1 : 0;
  }
  EXPECT_GE(held, 180);
  EXPECT_LE(wrongly, 4);
  EXPECT_GE(refuted, 180);
}

TEST(ClaimTest, APointEstimateIsNotEnough) {
  std::vector<double> barely;
  for (int i = 0; i < 96; ++i)
    barely.push_back(-std::log1p(0.06) + 0.3 * (i % 2 == 0 ? i : 1 - i) / 96);
  ClaimTest test({0.05}, 0);
  for (const int pairs : gates::kLooks) {
    test.look(pairs, std::vector<std::span<const double>>{barely});
  }
  EXPECT_EQ(test.results().front().state, ClaimState::undecided);
}

// A quick part of `./dev bench gates`, which has the full table.
struct Rates {
  int blocked = 0, passed = 0, first_blocked = 0, first_passed = 0;
};
Rates simulate(const tests::NoiseProfile& profile, double effect, int gates_count) {
  Rates rates;
  for (int i = 0; i < gates_count; ++i) {
    const tests::SimulatedGate gate = tests::simulate_gate(
        profile, effect, 20, tasks::Share{30'000}, static_cast<std::uint64_t>(i) + 1);
    rates.blocked += gate.is_blocked ? 1 : 0;
    rates.passed += gate.is_passed ? 1 : 0;
    rates.first_blocked += gate.first == Trend::regressed ? 1 : 0;
    rates.first_passed += gate.first == Trend::passed ? 1 : 0;
  }
  return rates;
}

TEST(Simulator, GatesInWhichNothingIsSlowerAreNotBlocked) {
  for (const tests::NoiseProfile& profile : tests::noise_profiles()) {
    const Rates rates = simulate(profile, 0, profile.name == "quiet" ? 12 : 3);
    EXPECT_EQ(rates.blocked, 0) << profile.name;
    if (profile.name == "quiet") {
      EXPECT_EQ(rates.passed, 12);
    }
    // Noise of 13 % hides 3 %: the gate says so.
    if (profile.name == "busy") {
      EXPECT_EQ(rates.passed, 0);
    }
  }
}

TEST(Simulator, ThreePercentOnASharedMachineIsMostlyFoundAndHardlyEverPassed) {
  const Rates rates = simulate(tests::noise_profiles()[1], 0.03, 10);
  EXPECT_GE(rates.first_blocked, 7);
  EXPECT_LE(rates.first_passed, 1);
}

TEST(OtherWays, AgreeWithPublishedValues) {
  // Mann and Whitney, Ann. Math. Statist. 18, 1947: U = 0 of 10 and 10 is far out; equal samples
  // are not. With continuity correction z = (50 - 0.5) / 13.229 = 3.742.
  std::vector<double> low;
  std::vector<double> high;
  for (int i = 0; i < 10; ++i) {
    low.push_back(i);
    high.push_back(100 + i);
  }
  EXPECT_NEAR(tests::mann_whitney(low, high), 1.8267e-4, 1e-7);
  EXPECT_NEAR(tests::mann_whitney(low, low), 1.0, 1e-12);
  // Welch, Biometrika 34, 1947; R: t.test(c(1,2,3,4), c(2,4,6,8)): t = -1.7321, df = 4.4118.
  EXPECT_NEAR(tests::welch(std::vector<double>{1, 2, 3, 4}, std::vector<double>{2, 4, 6, 8}),
              0.1519, 3e-3);
}

}  // namespace
