#include "mathkit/matrix.h"

namespace mathkit {

Matrix::Matrix(std::size_t rows, std::size_t columns)
    : rows_(rows), columns_(columns), cells_(rows * columns) {}

Matrix multiply(const Matrix& left, const Matrix& right) {
  if (left.columns() != right.rows()) {
    return Matrix(0, 0);
  }
  Matrix product(left.rows(), right.columns());
  for (std::size_t row = 0; row < left.rows(); ++row) {
    for (std::size_t column = 0; column < right.columns(); ++column) {
      double sum = 0;
      for (std::size_t i = 0; i < left.columns(); ++i) {
        sum += left.at(row, i) * right.at(i, column);
      }
      product.at(row, column) = sum;
    }
  }
  return product;
}

}  // namespace mathkit
