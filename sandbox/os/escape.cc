#include "sandbox/os/escape.h"

#include <algorithm>
#include <array>

namespace os {
namespace {

struct Range {
  std::uint32_t first, last;
};

constexpr std::array kActing{
    Range{0x00, 0x1f},       Range{0x7f, 0x9f},       Range{0xad, 0xad},      Range{0x34f, 0x34f},
    Range{0x61c, 0x61c},     Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},  Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},  Range{0x3164, 0x3164},
    Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},  Range{0xfff0, 0xfffb},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff}};

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

}  // namespace

std::string percent_encode(std::string_view text, std::string_view kept) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_unreserved(c) || kept.contains(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kDigits[byte >> 4U];
    encoded += kDigits[byte & 15U];
  }
  return encoded;
}

std::string_view markup_entity(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

std::string escape_markup(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const std::string_view entity = markup_entity(c);
    if (entity.empty())
      escaped += c;
    else
      escaped += entity;
  }
  return escaped;
}

bool acts_unseen(std::uint32_t point) {
  return std::ranges::any_of(
      kActing, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

}  // namespace os
