#include "gates/statistics.h"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "gates/benchmark_gate.h"

namespace {

using gates::PairedSample;

// Critical values of Wilcoxon's signed-rank statistic, one-sided .05, .025, .01, .005: Wilcoxon and
// Wilcox, Some Rapid Approximate Statistical Procedures, 1964; -1 where the table has none.
struct TableRow {
  int pairs;
  std::array<int, 4> values;
};
constexpr std::array<double, 4> kTableLevels{0.05, 0.025, 0.01, 0.005};
constexpr std::array kTable{
    TableRow{4, {-1, -1, -1, -1}},      TableRow{5, {0, -1, -1, -1}},
    TableRow{6, {2, 0, -1, -1}},        TableRow{7, {3, 2, 0, -1}},
    TableRow{8, {5, 3, 1, 0}},          TableRow{9, {8, 5, 3, 1}},
    TableRow{10, {10, 8, 5, 3}},        TableRow{11, {13, 10, 7, 5}},
    TableRow{12, {17, 13, 9, 7}},       TableRow{13, {21, 17, 12, 9}},
    TableRow{14, {25, 21, 15, 12}},     TableRow{15, {30, 25, 19, 15}},
    TableRow{16, {35, 29, 23, 19}},     TableRow{17, {41, 34, 27, 23}},
    TableRow{18, {47, 40, 32, 27}},     TableRow{19, {53, 46, 37, 32}},
    TableRow{20, {60, 52, 43, 37}},     TableRow{21, {67, 58, 49, 42}},
    TableRow{22, {75, 65, 55, 48}},     TableRow{23, {83, 73, 62, 54}},
    TableRow{24, {91, 81, 69, 61}},     TableRow{25, {100, 89, 76, 68}},
    TableRow{30, {151, 137, 120, 109}}, TableRow{40, {286, 264, 238, 220}},
    TableRow{50, {466, 434, 397, 373}},
};

TEST(SignedRank, QuantilesAreThoseOfThePublishedTable) {
  for (const TableRow& row : kTable) {
    for (std::size_t i = 0; i < kTableLevels.size(); ++i) {
      EXPECT_EQ(gates::signed_rank_quantile(row.pairs, kTableLevels[i]), row.values[i])
          << row.pairs << " pairs at " << kTableLevels[i];
    }
  }
}

TEST(SignedRank, ProbabilitiesAreExact) {
  EXPECT_EQ(gates::signed_rank_probability(8, 0), 1.0 / 256);
  EXPECT_EQ(gates::signed_rank_probability(8, 1), 2.0 / 256);
  EXPECT_EQ(gates::signed_rank_probability(8, 3), 5.0 / 256);
  EXPECT_EQ(gates::signed_rank_probability(3, 6), 1.0);
  EXPECT_EQ(gates::signed_rank_probability(3, -1), 0.0);
}

TEST(SignedRank, DistributionIsSymmetricUpToTheGreatestNumberOfPairs) {
  for (const int pairs : {1, 16, 48, gates::kMaxPairs}) {
    const int most = pairs * (pairs + 1) / 2;
    for (int k = 0; k < most; k += 1 + most / 7) {
      EXPECT_NEAR(gates::signed_rank_probability(pairs, k),
                  1 - gates::signed_rank_probability(pairs, most - k - 1), 1e-12);
    }
  }
}

TEST(SignedRank, LevelsOfTheFirstLooksCanBeReached) {
  EXPECT_EQ(gates::signed_rank_quantile(8, 0.05 / 6), 1);
  // 20 benchmarks, four looks: 1.25e-4.
  EXPECT_GE(gates::signed_rank_quantile(16, 0.01 / 80), 0);
}

TEST(PairedSample, EstimateIsTheMedianOfTheWalshAverages) {
  // Averages: 1, 2, 3, 5.5, 6.5, 10 and their middle.
  EXPECT_DOUBLE_EQ(PairedSample(std::array{1.0, 3.0, 10.0}).estimate(), (3 + 5.5) / 2);
  EXPECT_DOUBLE_EQ(PairedSample(std::array{-2.0, 4.0}).estimate(), 1.0);
  EXPECT_DOUBLE_EQ(PairedSample(std::array{7.0}).estimate(), 7.0);
}

TEST(PairedSample, BoundsAreWalshOrderStatistics) {
  const std::array<double, 8> values{1, 2, 3, 4, 5, 6, 7, 8};
  const PairedSample sample(values);
  EXPECT_DOUBLE_EQ(sample.upper(1.0 / 256), 8.0);  // k = 0
  EXPECT_DOUBLE_EQ(sample.upper(2.0 / 256), 7.5);  // k = 1
  EXPECT_DOUBLE_EQ(sample.lower(2.0 / 256), 1.5);
  EXPECT_TRUE(std::isinf(sample.upper(1e-3)));
  EXPECT_TRUE(std::isinf(sample.lower(1e-3)));
}

TEST(PairedSample, TiesAtTheMarginSpeakAgainstTheClaim) {
  const std::array<double, 8> zeros{};
  const PairedSample sample(zeros);
  EXPECT_EQ(sample.upper(0.05 / 6), 0.0);
  EXPECT_FALSE(sample.upper(0.05 / 6) < 0.0);
  EXPECT_FALSE(sample.lower(0.05 / 6) > 0.0);
}

TEST(PairedSample, SpreadIsUnmovedByAnOutlier) {
  const double calm = PairedSample(std::array{0.0, 1.0, 2.0, 3.0, 4.0}).spread();
  EXPECT_DOUBLE_EQ(calm, 1.4826);
  EXPECT_DOUBLE_EQ(PairedSample(std::array{0.0, 1.0, 2.0, 3.0, 4000.0}).spread(), calm);
}

TEST(PairedSample, OneOutlierMovesTheEstimateLittle) {
  const PairedSample sample(std::array{0.01, 0.011, 0.012, 0.009, 0.01, 0.01, 0.011, 9.0});
  EXPECT_LT(sample.estimate(), 0.02);
}

// Noise with bursts, as measured on a loaded machine: most pairs quiet, one in ten wild.
std::vector<double> noisy_pairs(std::mt19937_64& random, double effect, double spread) {
  std::normal_distribution<double> normal(0.0, spread);
  std::uniform_int_distribution<int> burst(0, 9);
  std::vector<double> differences(static_cast<std::size_t>(gates::kLooks.back()));
  for (double& difference : differences) {
    difference = effect + normal(random) * (burst(random) == 0 ? 10 : 1);
  }
  return differences;
}

struct Rates {
  double passed = 0;
  double regressed = 0;
};
Rates simulate(double effect, double spread) {
  constexpr int kTrials = 400;
  std::mt19937_64 random(20261130);
  const gates::Margins margins = gates::margins_of(tasks::Share{100'000});
  Rates rates;
  for (int i = 0; i < kTrials; ++i) {
    const auto trend = gates::find_trend(noisy_pairs(random, effect, spread), 5, margins).trend;
    if (trend == gates::Trend::passed) rates.passed += 1.0 / kTrials;
    if (trend == gates::Trend::regressed) rates.regressed += 1.0 / kTrials;
  }
  return rates;
}

TEST(ErrorRates, NoEffectIsNeverBlockedAndMostlyPasses) {
  const Rates rates = simulate(0.0, 0.04);
  EXPECT_EQ(rates.regressed, 0.0);
  EXPECT_GT(rates.passed, 0.95);
}

TEST(ErrorRates, ASlowDownByTheLowerMarginIsBlockedAtMostInOnePercent) {
  EXPECT_LE(simulate(std::log1p(0.1 / 6), 0.04).regressed, 0.01);
}

TEST(ErrorRates, ASlowDownByTheTolerancePassesAtMostInFivePercent) {
  EXPECT_LE(simulate(std::log1p(0.1), 0.04).passed, 0.05);
  EXPECT_LE(simulate(std::log1p(0.1), 0.20).passed, 0.05);
}

TEST(ErrorRates, AThirtyPercentSlowDownIsFound) {
  EXPECT_GT(simulate(std::log1p(0.3), 0.04).regressed, 0.99);
  EXPECT_GT(simulate(std::log1p(0.3), 0.10).regressed, 0.95);
}

TEST(ErrorRates, MuchNoiseIsInconclusiveAndNotBlocked) {
  const Rates rates = simulate(0.0, 0.5);
  EXPECT_EQ(rates.regressed, 0.0);
  EXPECT_LT(rates.passed, 0.5);
}

}  // namespace
