#include "runner/web/html.h"

#include <algorithm>

#include "sandbox/os/escape.h"
#include "sandbox/os/utf8.h"

namespace runner::web {
namespace {

// Where ingest puts bytes that are no UTF-8 (tasks/diff_view.h).
constexpr std::uint32_t kFirstByte = 0xf780;
constexpr std::uint32_t kLastByte = 0xf7ff;

std::string hex(std::uint32_t value, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (; value != 0 || text.size() < digits; value >>= 4U) text.insert(0, 1, kDigits[value & 15U]);
  return text;
}

bool is_plain(char c) { return c >= ' ' && c <= '~' && os::markup_entity(c).empty(); }

}  // namespace

ShownCharacter show_character(std::string_view text) {
  const os::Utf8Character character = os::decode_utf8(text);
  if (character.bytes == 0)
    return {.escape = "\\x" + hex(static_cast<unsigned char>(text.front()), 2), .bytes = 1};
  if (character.point >= kFirstByte && character.point <= kLastByte)
    return {.escape = "\\x" + hex(character.point - kFirstByte + 0x80, 2),
            .bytes = character.bytes};
  if (!os::acts_unseen(character.point)) return {.escape = {}, .bytes = character.bytes};
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
    const std::string_view replaced = os::markup_entity(text.front());
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
    const std::string_view replaced = os::markup_entity(text.front());
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
  out_.append(os::percent_encode(component));
  return *this;
}

}  // namespace runner::web
