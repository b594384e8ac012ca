#pragma once

#include <span>

namespace mathkit {

/// Arithmetic mean. Empty input gives 0.
double mean(std::span<const double> values);

/// Unbiased sample variance (divides by n - 1), in one numerically stable pass.
/// Fewer than two values give 0.
double variance(std::span<const double> values);

/// The middle value; for an even count the mean of the middle two. Empty input gives 0.
double median(std::span<const double> values);

}  // namespace mathkit
