#include "mathkit/statistics.h"

#include <vector>

#include <gtest/gtest.h>

namespace mathkit {
namespace {

TEST(Statistics, MeanOfNothingIsZero) { EXPECT_EQ(mean({}), 0); }

TEST(Statistics, MeanKeepsWhatPlainSummingLoses) {
  const std::vector<double> values = {1e16, 1, -1e16, 1};
  EXPECT_DOUBLE_EQ(mean(values), 0.5);
}

TEST(Statistics, VarianceDividesByCountMinusOne) {
  const std::vector<double> values = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_DOUBLE_EQ(variance(values), 32.0 / 7.0);
}

TEST(Statistics, VarianceDoesNotCancelFarFromZero) {
  const std::vector<double> values = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16};
  EXPECT_DOUBLE_EQ(variance(values), 30);
}

TEST(Statistics, MedianOfAnOddCountIsTheMiddle) {
  const std::vector<double> values = {9, 1, 5};
  EXPECT_EQ(median(values), 5);
}

TEST(Statistics, MedianOfAnEvenCountIsTheMeanOfTheMiddleTwo) {
  const std::vector<double> values = {8, 1, 4, 2};
  EXPECT_EQ(median(values), 3);
}

}  // namespace
}  // namespace mathkit
