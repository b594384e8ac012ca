#include "gates/statistics.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

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
  for (const int pairs : {1, 16, 96, gates::kMaxPairs}) {
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

TEST(PairedSample, ChancesAreTheLevelsOfTheBounds) {
  const std::array<double, 8> values{-1, 2, 3, 4, 5, 6, 7, 8};
  const PairedSample sample(values);
  for (const double margin : {-1.0, 0.0, 0.5, 3.0, 7.9}) {
    const double above = sample.chance_above(margin);
    EXPECT_GT(sample.lower(above), margin);
    EXPECT_FALSE(sample.lower(above * 0.999) > margin);
    const double below = sample.chance_below(margin);
    EXPECT_FALSE(sample.upper(below * 0.999) < margin);
    if (below < 1) {
      EXPECT_LT(sample.upper(below), margin);
    }
  }
  // Only -1 lies below 0, with rank 1.
  EXPECT_EQ(sample.chance_above(0), 2.0 / 256);
}

TEST(PairedSample, CountsWhatLiesFarOut) {
  EXPECT_EQ(PairedSample(std::array{0.0, 1.0, 2.0, 3.0, 4.0}).outliers(), 0);
  EXPECT_EQ(PairedSample(std::array{0.0, 1.0, 2.0, 3.0, 4000.0}).outliers(), 1);
}

// The example of R's p.adjust: of .01, .02, .03, .04, .05 Holm's adjusted values, the least levels
// at which each is rejected, are .05, .08, .09, .09, .09.
TEST(Holm, RejectsFromThePublishedAdjustedValuesOn) {
  const std::array chances{0.01, 0.02, 0.03, 0.04, 0.05};
  const std::array adjusted{0.05, 0.08, 0.09, 0.09, 0.09};
  for (std::size_t i = 0; i < chances.size(); ++i) {
    EXPECT_TRUE(gates::holm_rejections(chances, adjusted[i] + 1e-9)[i]) << i;
    EXPECT_FALSE(gates::holm_rejections(chances, adjusted[i] - 1e-9)[i]) << i;
  }
}

// Four hypotheses at .05: bounds .0125, .01667, .025, .05. The second smallest, .015, still goes;
// .03 over .025 stops, and so .04 stays too.
TEST(Holm, StopsAtTheFirstThatStays) {
  const std::array chances{0.04, 0.015, 0.03, 0.005};
  EXPECT_EQ(gates::holm_rejections(chances, 0.05), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(gates::holm_rejections(std::array{0.05}, 0.05), std::vector<bool>{true});
}

// Clopper and Pearson's 95 % limits as in published tables (Geigy; Newcombe, Statist. Med. 17,
// 1998: 81 of 263, 15 of 148, 0 of 20, 1 of 29).
TEST(ClopperPearson, LimitsAreThoseOfThePublishedTables) {
  struct Row {
    std::int64_t successes, trials;
    double low, high;
  };
  for (const Row& row :
       {Row{81, 263, 0.2527, 0.3676}, Row{15, 148, 0.0578, 0.1617}, Row{0, 20, 0.0, 0.1684},
        Row{1, 29, 0.0009, 0.1776}, Row{10, 10, 0.6915, 1.0}, Row{5, 10, 0.1871, 0.8129}}) {
    const gates::Proportion bounds = gates::clopper_pearson(row.successes, row.trials, 0.95);
    EXPECT_NEAR(bounds.low, row.low, 6e-5) << row.successes << " of " << row.trials;
    EXPECT_NEAR(bounds.high, row.high, 6e-5) << row.successes << " of " << row.trials;
  }
}

TEST(NormalQuantile, IsThatOfTheTable) {
  EXPECT_NEAR(gates::normal_quantile(0.975), 1.959964, 1e-6);
  EXPECT_NEAR(gates::normal_quantile(0.8), 0.841621, 1e-6);
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

}  // namespace
