#include "mathkit/number_theory.h"

namespace mathkit {
namespace {

std::uint64_t mod_multiply(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % modulus);
}

/// Whether `witness` leaves n = odd * 2^twos + 1 possibly prime.
bool passes(std::uint64_t witness, std::uint64_t odd, int twos, std::uint64_t n) {
  std::uint64_t power = mod_pow(witness, odd, n);
  if (power == 1 || power == n - 1) {
    return true;
  }
  for (int i = 1; i < twos; ++i) {
    power = mod_multiply(power, power, n);
    if (power == n - 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::uint64_t gcd(std::uint64_t a, std::uint64_t b) {
  while (b != 0) {
    const std::uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

std::uint64_t mod_pow(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  if (modulus == 0) {
    return 0;
  }
  std::uint64_t result = 1 % modulus;
  for (base %= modulus; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result = mod_multiply(result, base, modulus);
    }
    base = mod_multiply(base, base, modulus);
  }
  return result;
}

bool is_prime(std::uint64_t n) {
  constexpr std::uint64_t kWitnesses[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) {
    return false;
  }
  for (const std::uint64_t prime : kWitnesses) {
    if (n % prime == 0) {
      return n == prime;
    }
  }
  std::uint64_t odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) {
    ++twos;
  }
  for (const std::uint64_t witness : kWitnesses) {
    if (!passes(witness, odd, twos, n)) {
      return false;
    }
  }
  return true;
}

}  // namespace mathkit
