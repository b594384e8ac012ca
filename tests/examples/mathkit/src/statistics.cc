#include "mathkit/statistics.h"

#include <algorithm>
#include <vector>

namespace mathkit {

double mean(std::span<const double> values) {
  double sum = 0;
  double lost = 0;  // Neumaier: what the sum dropped to rounding
  for (const double value : values) {
    const double next = sum + value;
    const bool sum_is_larger = (sum < 0 ? -sum : sum) >= (value < 0 ? -value : value);
    lost += sum_is_larger ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  return values.empty() ? 0 : (sum + lost) / static_cast<double>(values.size());
}

double variance(std::span<const double> values) {
  double average = 0;
  double squares = 0;
  double count = 0;
  for (const double value : values) {  // Welford
    count += 1;
    const double distance = value - average;
    average += distance / count;
    squares += distance * (value - average);
  }
  return count < 2 ? 0 : squares / (count - 1);
}

double median(std::span<const double> values) {
  if (values.empty()) {
    return 0;
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) {
    return sorted[middle];
  }
  return sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2;
}

}  // namespace mathkit
