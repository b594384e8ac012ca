#include "mathkit/special.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace mathkit {
namespace {

TEST(Special, ErfcIsOneAtZeroAndSymmetric) {
  EXPECT_DOUBLE_EQ(erfc(0), 1);
  EXPECT_DOUBLE_EQ(erfc(-0.75) + erfc(0.75), 2);
}

TEST(Special, ErfcAgreesWithTheStandardLibrary) {
  for (double x = 0.125; x < 12; x += 0.125) {
    EXPECT_NEAR(erfc(x) / std::erfc(x), 1, 1e-12) << "x = " << x;
  }
}

TEST(Special, PolynomialStartsWithTheConstantTerm) {
  const std::vector<double> coefficients = {1, -2, 3};
  EXPECT_EQ(polynomial(coefficients, 2), 9);
  EXPECT_EQ(polynomial({}, 2), 0);
}

}  // namespace
}  // namespace mathkit
