// Small exact arithmetic over arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tally {

// The sum of all values.
std::int64_t sum(const std::int32_t* values, std::size_t count);

// FNV-1a of the bytes, 32 bits.
std::uint32_t hash(const unsigned char* bytes, std::size_t count);

// Sorts in place, ascending.
void sort(std::int32_t* values, std::size_t count);

// The arithmetic mean; 0 for no values.
double mean(const double* values, std::size_t count);

// The sum of bases[i]^exponent mod modulus over all bases, mod 2^64; 0 < modulus < 2^63.
std::uint64_t power_sum(const std::uint64_t* bases, std::size_t count, std::uint64_t exponent,
                        std::uint64_t modulus);

}  // namespace tally
