#include "sandbox/os/units.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace os {
namespace {

struct Quantity {
  std::uint64_t number = 0;
  std::string_view unit;
};

std::optional<Quantity> split(std::string_view text) {
  Quantity quantity;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), quantity.number);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  quantity.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return quantity;
}

std::unexpected<Error> bad(std::string_view text, std::string_view allowed) {
  return fail(Code::invalid, fmt::format("'{}' is not {}", text, allowed));
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  constexpr std::string_view kAllowed = "a size (write bytes, or KiB, MiB, GiB, or K, M, G)";
  const std::optional<Quantity> quantity = split(text);
  if (!quantity) return bad(text, kAllowed);
  unsigned shift = 0;
  if (quantity->unit.empty() || quantity->unit == "B")
    shift = 0;
  else if (quantity->unit == "KiB" || quantity->unit == "K")
    shift = 10;
  else if (quantity->unit == "MiB" || quantity->unit == "M")
    shift = 20;
  else if (quantity->unit == "GiB" || quantity->unit == "G")
    shift = 30;
  else if (quantity->unit == "KB" || quantity->unit == "MB" || quantity->unit == "GB")
    return fail(Code::invalid,
                fmt::format("'{}' is ambiguous: write KiB, MiB or GiB (powers of 1024)", text));
  else
    return bad(text, kAllowed);
  if (quantity->number > (std::numeric_limits<std::uint64_t>::max() >> 1U >> shift))
    return fail(Code::invalid, fmt::format("'{}' is too large", text));
  return Bytes{quantity->number << shift};
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 3> kUnits{
      {{30, "GiB"}, {20, "MiB"}, {10, "KiB"}}};
  for (const auto& [shift, unit] : kUnits)
    if (bytes.count >= (1ULL << shift) && bytes.count % (1ULL << shift) == 0)
      return fmt::format("{}{}", bytes.count >> shift, unit);
  return std::to_string(bytes.count);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::string_view kAllowed = "a duration (write ms, s, m or h, for example 90s)";
  const std::optional<Quantity> quantity = split(text);
  if (!quantity || quantity->number > 10'000'000'000ULL) return bad(text, kAllowed);
  const auto number = static_cast<std::int64_t>(quantity->number);
  if (quantity->unit == "ms") return std::chrono::milliseconds(number);
  if (quantity->unit == "s") return std::chrono::milliseconds(number * 1000);
  if (quantity->unit == "m") return std::chrono::milliseconds(number * 60'000);
  if (quantity->unit == "h") return std::chrono::milliseconds(number * 3'600'000);
  return bad(text, kAllowed);
}

std::string format_duration(std::chrono::milliseconds duration) {
  const std::int64_t count = duration.count();
  if (count != 0 && count % 3'600'000 == 0) return fmt::format("{}h", count / 3'600'000);
  if (count != 0 && count % 60'000 == 0) return fmt::format("{}m", count / 60'000);
  if (count % 1000 == 0) return fmt::format("{}s", count / 1000);
  return fmt::format("{}ms", count);
}

Result<std::int64_t> parse_percent_millionths(std::string_view text) {
  constexpr std::string_view kAllowed = "a percentage (for example 5% or 2.5%, at most 1000%)";
  if (text.size() < 2 || text.back() != '%') return bad(text, kAllowed);
  const std::string_view number = text.substr(0, text.size() - 1);
  const std::size_t dot = number.find('.');
  const std::string_view fraction =
      dot == std::string_view::npos ? std::string_view() : number.substr(dot + 1);
  const std::optional<Quantity> whole = split(number.substr(0, dot));
  if (!whole || !whole->unit.empty() || whole->number > 1000) return bad(text, kAllowed);
  if (dot != std::string_view::npos && (fraction.empty() || fraction.size() > 4))
    return bad(text, kAllowed);
  std::int64_t value = static_cast<std::int64_t>(whole->number) * 10'000;
  std::int64_t weight = 1000;
  for (const char digit : fraction) {
    if (digit < '0' || digit > '9') return bad(text, kAllowed);
    value += (digit - '0') * weight;
    weight /= 10;
  }
  if (value > 10'000'000) return bad(text, kAllowed);
  return value;
}

std::string format_time(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch());
  const auto seconds = static_cast<std::time_t>(since.count() / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     since.count() % 1000);
}

Result<std::chrono::system_clock::time_point> parse_time(std::string_view text) {
  std::tm parts{};
  int milliseconds = 0;
  int used = 0;
  const std::string copy(text);
  const int fields = std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &parts.tm_year,
                                 &parts.tm_mon, &parts.tm_mday, &parts.tm_hour, &parts.tm_min,
                                 &parts.tm_sec, &milliseconds, &used);
  if (fields != 7 || static_cast<std::size_t>(used) != copy.size())
    return fail(Code::invalid, fmt::format("'{}' is not an RFC 3339 UTC time", text));
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::chrono::system_clock::from_time_t(::timegm(&parts)) +
         std::chrono::milliseconds(milliseconds);
}

}  // namespace os
