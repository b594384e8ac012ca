#include "mathkit/matrix.h"

#include <gtest/gtest.h>

namespace mathkit {
namespace {

TEST(Matrix, StartsWithZeros) { EXPECT_EQ(Matrix(2, 3).at(1, 2), 0); }

TEST(Matrix, MultipliesRowsByColumns) {
  Matrix left(2, 3);
  Matrix right(3, 2);
  for (unsigned i = 0; i < 6; ++i) {
    left.at(i / 3, i % 3) = i + 1;
    right.at(i / 2, i % 2) = i + 7;
  }
  const Matrix product = multiply(left, right);
  ASSERT_EQ(product.rows(), 2U);
  ASSERT_EQ(product.columns(), 2U);
  EXPECT_EQ(product.at(0, 0), 58);
  EXPECT_EQ(product.at(0, 1), 64);
  EXPECT_EQ(product.at(1, 0), 139);
  EXPECT_EQ(product.at(1, 1), 154);
}

TEST(Matrix, ProductOfUnfittingShapesIsEmpty) {
  EXPECT_EQ(multiply(Matrix(2, 3), Matrix(2, 3)).rows(), 0U);
}

}  // namespace
}  // namespace mathkit
