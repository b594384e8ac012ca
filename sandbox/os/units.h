// Units as people write them: sizes, durations, percentages.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/os/result.h"

namespace os {

// A number of bytes.
struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes operator""_KiB(unsigned long long n) { return Bytes{n << 10U}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return Bytes{n << 20U}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return Bytes{n << 30U}; }

// "512", "64KiB", "2MiB", "1GiB", and K, M, G as the same powers of 1024. KB, MB, GB are refused as
// ambiguous; overflow, signs, fractions and unknown units are invalid.
Result<Bytes> parse_bytes(std::string_view text);
std::string format_bytes(Bytes bytes);

// "90s", "10m", "2h", "250ms"; no unit is invalid.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
std::string format_duration(std::chrono::milliseconds duration);

// "10%" or "2.5%" as a number of millionths (100000, 25000); the sign '%' is required, the value
// lies in [0, 1000]%.
Result<std::int64_t> parse_percent_millionths(std::string_view text);

// RFC 3339 UTC with milliseconds: 2026-11-30T12:00:00.000Z.
std::string format_time(std::chrono::system_clock::time_point time);
Result<std::chrono::system_clock::time_point> parse_time(std::string_view text);

}  // namespace os
