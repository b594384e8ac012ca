#include "gates/text.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tasks/policy.h"

namespace gates {

std::string one_line(std::string_view text, std::size_t most) {
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_space = byte <= 0x20U || byte == 0x7FU;
    if (is_space && (line.empty() || line.back() == ' ')) continue;
    line += is_space ? ' ' : c;
    // Enough to know that it is too long.
    if (line.size() > most + 4) break;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  if (line.size() <= most) return line;
  line.resize(most);
  // Not in the middle of a UTF-8 character: first its following bytes, then its first one.
  while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xC0U) == 0x80U) {
    line.pop_back();
  }
  if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xC0U) line.pop_back();
  return line + "…";
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::int64_t millionths(double ratio) { return std::llround(ratio * 1e6); }

std::string percent(tasks::Share share) {
  std::string text = fmt::format("{}.{:04}", share.millionths / 10'000, share.millionths % 10'000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

}  // namespace gates
