#pragma once

#include <cstddef>
#include <vector>

namespace mathkit {

/// A dense matrix of doubles, row after row.
class Matrix {
 public:
  /// rows x columns zeros.
  Matrix(std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  double& at(std::size_t row, std::size_t column) { return cells_[row * columns_ + column]; }
  const double& at(std::size_t row, std::size_t column) const {
    return cells_[row * columns_ + column];
  }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<double> cells_;
};

/// left * right. Where left.columns() differs from right.rows() the result is 0 x 0.
Matrix multiply(const Matrix& left, const Matrix& right);

}  // namespace mathkit
