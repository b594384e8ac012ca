#include "tally.h"

namespace tally {

std::int64_t sum(const std::int32_t* values, std::size_t count) {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) total += values[i];
  return total;
}

std::uint32_t hash(const unsigned char* bytes, std::size_t count) {
  std::uint32_t state = 2166136261U;
  for (std::size_t i = 0; i < count; ++i) state = (state ^ bytes[i]) * 16777619U;
  return state;
}

void sort(std::int32_t* values, std::size_t count) {
  for (std::size_t gap = count / 2; gap > 0; gap /= 2) {
    for (std::size_t i = gap; i < count; ++i) {
      const std::int32_t value = values[i];
      std::size_t at = i;
      for (; at >= gap && values[at - gap] > value; at -= gap) values[at] = values[at - gap];
      values[at] = value;
    }
  }
}

double mean(const double* values, std::size_t count) {
  if (count == 0) return 0;
  double total = 0;
  double lost = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double next = values[i] - lost;
    const double with = total + next;
    lost = (with - total) - next;
    total = with;
  }
  return total / static_cast<double>(count);
}

// By doubling and adding, so that no product is wider than a word; modulus below 2^63.
static std::uint64_t multiply(std::uint64_t left, std::uint64_t right, std::uint64_t modulus) {
  std::uint64_t product = 0;
  for (; right > 0; right >>= 1U) {
    if (right & 1U) product = product + left >= modulus ? product + left - modulus : product + left;
    left = left + left >= modulus ? left + left - modulus : left + left;
  }
  return product;
}

std::uint64_t power_sum(const std::uint64_t* bases, std::size_t count, std::uint64_t exponent,
                        std::uint64_t modulus) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t base = bases[i] % modulus;
    std::uint64_t power = 1 % modulus;
    for (std::uint64_t left = exponent; left > 0; left >>= 1U) {
      if (left & 1U) power = multiply(power, base, modulus);
      base = multiply(base, base, modulus);
    }
    total += power;
  }
  return total;
}

}  // namespace tally
