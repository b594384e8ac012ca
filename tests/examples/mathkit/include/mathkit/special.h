#pragma once

#include <span>

namespace mathkit {

/// Complementary error function, 1 - erf(x), to a relative error below 1e-12 for |x| <= 26.
double erfc(double x);

/// coefficients[0] + coefficients[1] * x + coefficients[2] * x^2 + ... by Horner's rule.
double polynomial(std::span<const double> coefficients, double x);

}  // namespace mathkit
