#include "runner/web/html.h"

#include <algorithm>
#include <array>

#include "sandbox/os/utf8.h"

namespace runner::web {
namespace {

struct Range {
  std::uint32_t first, last;
};

// Characters that change how others look, or are not to be seen at all (Unicode 15: categories Cc,
// Cf, Zl, Zp, the invisible fillers, variation selectors and tags).
constexpr std::array kActing{
    Range{0x00, 0x1f},       Range{0x7f, 0x9f},       Range{0xad, 0xad},      Range{0x34f, 0x34f},
    Range{0x61c, 0x61c},     Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5},  Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f},  Range{0x3164, 0x3164},
    Range{0xfe00, 0xfe0f},   Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},  Range{0xfff0, 0xfffb},
    Range{0x1bca0, 0x1bca3}, Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff}};

// Where ingest puts bytes that are no UTF-8 (tasks/diff_view.h).
constexpr std::uint32_t kFirstByte = 0xf780;
constexpr std::uint32_t kLastByte = 0xf7ff;

bool acts(std::uint32_t point) {
  return std::ranges::any_of(
      kActing, [&](const Range& range) { return point >= range.first && point <= range.last; });
}

std::string hex(std::uint32_t value, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; value != 0 || text.size() < digits; value >>= 4U) text.insert(0, 1, kDigits[value & 15U]);
  return text;
}

std::string_view entity(char c) {
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

bool is_plain(char c) {
  return c >= ' ' && c <= '~' && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

}  // namespace

ShownCharacter show_character(std::string_view text) {
  const os::Utf8Character character = os::decode_utf8(text);
  if (character.bytes == 0)
    return {.escape = "\\x" + hex(static_cast<unsigned char>(text.front()), 2), .bytes = 1};
  if (character.point >= kFirstByte && character.point <= kLastByte)
    return {.escape = "\\x" + hex(character.point - kFirstByte + 0x80, 2),
            .bytes = character.bytes};
  if (!acts(character.point)) return {.escape = {}, .bytes = character.bytes};
  if (character.point == '\n') return {.escape = "\\n", .bytes = 1};
  if (character.point == '\r') return {.escape = "\\r", .bytes = 1};
  if (character.point == '\t') return {.escape = "\\t", .bytes = 1};
  if (character.point < 0x100)
    return {.escape = "\\x" + hex(character.point, 2), .bytes = character.bytes};
  return {.escape = "\\u{" + hex(character.point, 4) + "}", .bytes = character.bytes};
}

void Html::add_text(std::string_view text) {
  while (!text.empty()) {
    const auto* const end = std::ranges::find_if_not(text, is_plain);
    const auto plain = static_cast<std::size_t>(end - text.begin());
    out_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const std::string_view replaced = entity(text.front());
    if (!replaced.empty()) {
      out_.append(replaced);
      text.remove_prefix(1);
      continue;
    }
    const ShownCharacter shown = show_character(text);
    out_.append(shown.escape.empty() ? text.substr(0, shown.bytes) : shown.escape);
    text.remove_prefix(shown.bytes);
  }
}

Html& Html::code(std::string_view text) {
  while (!text.empty()) {
    const auto* const end = std::ranges::find_if_not(text, is_plain);
    const auto plain = static_cast<std::size_t>(end - text.begin());
    out_.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::string_view replaced = entity(text.front());
    const ShownCharacter shown = show_character(text);
    const bool is_layout = text.front() == '\n' || text.front() == '\t';
    if (!replaced.empty())
      out_.append(replaced);
    else if (is_layout || shown.escape.empty())
      out_.append(text.substr(0, shown.bytes));
    else
      out_.append("<b class=\"x\">").append(shown.escape).append("</b>");
    text.remove_prefix(shown.bytes);
  }
  return *this;
}

Html& Html::url(std::string_view component) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : component) {
    const bool is_safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                         (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_safe) {
      out_ += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out_ += '%';
    out_ += kDigits[byte >> 4U];
    out_ += kDigits[byte & 15U];
  }
  return *this;
}

}  // namespace runner::web
