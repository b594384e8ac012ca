#include "tasks/reports/text.h"

#include <algorithm>
#include <cstdint>

#include "sandbox/os/utf8.h"

namespace tasks::reports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "…";

// Printable ASCII, which is most of any text.
bool is_plain(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; }

// Appends one character; C1 controls (U+0080..U+009F) act on terminals as C0 ones do.
void append_clean(std::string& out, std::string_view character) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(character.front());
  const bool is_c0 = (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7F;
  const bool is_c1 =
      character.size() == 2 && byte == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  if (!is_c0 && !is_c1) {
    out += character;
    return;
  }
  const auto value = is_c1 ? static_cast<unsigned char>(character[1]) : byte;
  out += "\\x";
  out += kDigits[value >> 4U];
  out += kDigits[value & 0xFU];
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t limit, Keep keep) {
  bool is_cut = false;
  // A bounded part is enough: cleaning never makes a text shorter but for CRs, which are rare.
  if (keep == Keep::tail && text.size() > 4 * limit) {
    text.remove_prefix(text.size() - 4 * limit);
    is_cut = true;
    while (!text.empty() && os::is_utf8_continuation(text.front())) text.remove_prefix(1);
  }
  std::string out;
  while (!text.empty() && (keep == Keep::tail || out.size() <= limit)) {
    const std::string_view part =
        keep == Keep::head ? text.substr(0, limit + 1 - out.size()) : text;
    const auto special = std::ranges::find_if_not(part, is_plain);
    out.append(part.begin(), special);
    text.remove_prefix(static_cast<std::size_t>(special - part.begin()));
    if (special == part.end()) continue;
    const std::size_t length = os::decode_utf8(text).bytes;
    if (length == 0)
      out += kReplacement;
    else if (!text.starts_with("\r\n"))
      append_clean(out, text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  if (out.size() <= limit && !is_cut) return out;
  const std::size_t room = limit > kEllipsis.size() ? limit - kEllipsis.size() : 0;
  if (keep == Keep::head) {
    std::size_t end = std::min(room, out.size());
    while (end > 0 && end < out.size() && os::is_utf8_continuation(out[end])) --end;
    return out.substr(0, end).append(kEllipsis);
  }
  std::size_t begin = out.size() > room ? out.size() - room : 0;
  while (begin < out.size() && os::is_utf8_continuation(out[begin])) ++begin;
  return std::string(kEllipsis).append(out, begin);
}

}  // namespace tasks::reports
