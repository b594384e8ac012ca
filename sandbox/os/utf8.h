// Reading UTF-8 by character (RFC 3629: no overlong forms, no surrogates, nothing over U+10FFFF).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace os {

// One character: its code point and how many bytes it has; 0 bytes: there is none.
struct Utf8Character {
  std::uint32_t point = 0;
  std::size_t bytes = 0;
};

// The character that `text` begins with. Any thread.
Utf8Character decode_utf8(std::string_view text);

// Bytes of the character that `first` begins: 1 to 4; 0 if no character begins with it.
std::size_t utf8_length_from(unsigned char first);

// True for a byte that continues a character and begins none.
inline bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

}  // namespace os
