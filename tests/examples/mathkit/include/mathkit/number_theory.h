#pragma once

#include <cstdint>

namespace mathkit {

/// Greatest common divisor; gcd(0, n) is n.
std::uint64_t gcd(std::uint64_t a, std::uint64_t b);

/// base^exponent mod modulus for every 64-bit modulus; modulus 0 gives 0.
std::uint64_t mod_pow(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus);

/// Exact for every 64-bit number: Miller-Rabin with the first twelve primes as witnesses.
bool is_prime(std::uint64_t n);

}  // namespace mathkit
