#include "sandbox/os/base64.h"

#include <cstddef>
#include <cstdint>

namespace os {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr unsigned kSixBits = 63;
constexpr unsigned kByte = 255;

std::uint32_t byte_at(std::string_view bytes, std::size_t index) {
  return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0U;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    const std::size_t left = bytes.size() - i;
    text += kAlphabet[group >> 18U & kSixBits];
    text += kAlphabet[group >> 12U & kSixBits];
    text += left > 1 ? kAlphabet[group >> 6U & kSixBits] : '=';
    text += left > 2 ? kAlphabet[group & kSixBits] : '=';
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return fail(Code::invalid, "base64: its length is no multiple of 4");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::string_view quad = text.substr(i, 4);
    const bool is_last = i + 4 == text.size();
    while (is_last && quad.size() > 2 && quad.ends_with('=')) quad.remove_suffix(1);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t value = k < quad.size() ? kAlphabet.find(quad[k]) : 0;
      if (value == std::string_view::npos) return fail(Code::invalid, "base64: a wrong character");
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    const std::size_t count = quad.size() - 1;
    const std::uint32_t unused = 24U - static_cast<std::uint32_t>(count) * 8U;
    if ((group & ((1U << unused) - 1U)) != 0)
      return fail(Code::invalid, "base64: bits are left over");
    for (std::size_t k = 0; k < count; ++k)
      bytes += static_cast<char>(group >> (16U - 8U * k) & kByte);
  }
  return bytes;
}

}  // namespace os
