#include "runner/log.h"

#include <unistd.h>

#include "runner/clock.h"
#include "sandbox/os/fd.h"

namespace runner {
namespace {

constexpr std::size_t kValueLimit = 500;

std::string_view level_name(LogLevel level) {
  switch (level) {
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

// Quoted when it is not one plain word; everything outside printable ASCII becomes '?'.
std::string escaped(std::string_view value) {
  const bool is_cut = value.size() > kValueLimit;
  value = value.substr(0, kValueLimit);
  std::string text;
  bool is_plain = !value.empty();
  for (const char c : value) {
    const bool is_shown = c > ' ' && c <= '~' && c != '"' && c != '\\' && c != '=';
    is_plain = is_plain && is_shown;
    if (c == '"' || c == '\\') text += '\\';
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  if (is_cut) text += "…";
  return is_plain && !is_cut ? text : '"' + text + '"';
}

}  // namespace

void log_line(LogLevel level, std::string_view message, LogFields fields) {
  std::string line =
      now_text() + " " + std::string(level_name(level)) + " \"" + std::string(message) + "\"";
  for (const auto& [key, value] : fields) line += " " + std::string(key) + "=" + escaped(value);
  line += '\n';
  // A log that cannot be written must not stop the service.
  static_cast<void>(os::write_all(STDERR_FILENO, line).has_value());
}

}  // namespace runner
