#include "sandbox/os/ids.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include "sandbox/os/digest.h"

namespace os {
namespace {

constexpr std::string_view kCrockford = "0123456789abcdefghjkmnpqrstvwxyz";

std::string encode_ulid(std::uint64_t milliseconds, const std::array<std::uint8_t, 10>& tail) {
  std::string text(26, '0');
  for (std::size_t i = 0; i < 10; ++i) {
    text[9 - i] = kCrockford[milliseconds & 31U];
    milliseconds >>= 5U;
  }
  std::size_t bit = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    unsigned value = 0;
    for (int k = 0; k < 5; ++k, ++bit)
      value = value * 2 + ((static_cast<unsigned>(tail[bit / 8]) >> (7 - bit % 8)) & 1U);
    text[10 + i] = kCrockford[value];
  }
  return text;
}

bool increment(std::array<std::uint8_t, 10>& tail) {
  for (auto byte = tail.rbegin(); byte != tail.rend(); ++byte)
    if (++*byte != 0) return true;
  return false;
}

}  // namespace

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::getrandom(bytes.data() + done, count - done, 0);
    if (got > 0) done += static_cast<std::size_t>(got);
    check(got > 0 || errno == EINTR, "getrandom works");
  }
  return bytes;
}

std::string random_hex(std::size_t count) { return to_hex(random_bytes(count)); }

std::string make_ulid() {
  // Monotonic within the process: ids made in one millisecond count upwards.
  static std::mutex mutex;
  static std::uint64_t last = 0;
  static std::array<std::uint8_t, 10> tail{};
  const auto now =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  const std::scoped_lock lock(mutex);
  if (now > last || !increment(tail)) {
    last = std::max(now, last + (now > last ? 0U : 1U));
    const std::string fresh = random_bytes(tail.size());
    std::ranges::transform(fresh, tail.begin(),
                           [](char byte) { return static_cast<std::uint8_t>(byte); });
  }
  return encode_ulid(last, tail);
}

bool is_plain_name(std::string_view text) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 64 || !alphanumeric(text.front())) return false;
  return std::ranges::all_of(
      text, [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace os
