#include "mathkit/special.h"

#include <cmath>

namespace mathkit {
namespace {

constexpr double kInverseSqrtPi = 0.56418958354775628695;

/// Depth of the continued fraction: 60 levels leave less than 1e-16 at x = 2, where it
/// converges most slowly of all x that use it.
constexpr int kLevels = 60;

/// erf(x) for 0 <= x < 2; every term is positive, so nothing cancels.
double erf_series(double x) {
  double term = x;
  double sum = x;
  for (int n = 1; term > sum * 1e-17; ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 * kInverseSqrtPi * std::exp(-x * x) * sum;
}

/// erfc(x) for x >= 2: x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ...))) from the bottom up.
double erfc_fraction(double x) {
  double tail = x;
  for (int level = kLevels; level > 0; --level) {
    tail = x + 0.5 * level / tail;
  }
  return kInverseSqrtPi * std::exp(-x * x) / tail;
}

}  // namespace

double erfc(double x) {
  if (x < 0) {
    return 2 - erfc(-x);
  }
  return x < 2 ? 1 - erf_series(x) : erfc_fraction(x);
}

double polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (std::size_t i = coefficients.size(); i > 0; --i) {
    value = value * x + coefficients[i - 1];
  }
  return value;
}

}  // namespace mathkit
