#include "sandbox/os/utf8.h"

#include <array>

namespace os {

std::size_t utf8_length_from(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

Utf8Character decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = utf8_length_from(first);
  if (length == 0 || text.size() < length) return {};
  std::uint32_t point = length == 1 ? first : first & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_utf8_continuation(text[i])) return {};
    point = (point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xd800 && point < 0xe000;
  if (point < kLeast.at(length) || is_surrogate || point > 0x10ffff) return {};
  return {.point = point, .bytes = length};
}

}  // namespace os
