#include "runner/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sandbox/os/escape.h"
#include "sandbox/os/ids.h"
#include "sandbox/os/utf8.h"

namespace runner::cli {
namespace {

std::string escape(std::string_view text, std::string_view allowed) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const os::Utf8Character character = os::decode_utf8(text);
    if (character.bytes == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (!os::acts_unseen(character.point) || allowed.find(text.front()) != allowed.npos)
      out += text.substr(0, character.bytes);
    else if (character.point == '\n')
      out += "\\n";
    else if (character.point == '\t')
      out += "\\t";
    else if (character.point < 0x80)
      out += fmt::format("\\x{:02x}", character.point);
    else if (character.point < 0x10000)
      out += fmt::format("\\u{:04x}", character.point);
    else
      out += fmt::format("\\U{:08x}", character.point);
    text.remove_prefix(character.bytes);
  }
  return out;
}

// Standard output or error; a reader that went away ends us as quietly as SIGPIPE would.
void write_out(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote >= 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE) {
      ::_exit(128 + 13);
    } else if (errno != EINTR && errno != EAGAIN) {
      return;
    }
  }
}

std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string escape_text(std::string_view text) { return escape(text, "\n\t"); }

std::string escape_line(std::string_view text) { return escape(text, ""); }

std::string escape_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const os::Utf8Character character = os::decode_utf8(json);
    const std::size_t length = character.bytes == 0 ? 1 : character.bytes;
    const bool is_layout = json.front() == '\n';
    if (character.bytes == 0)
      out += "\\ufffd";
    else if (!os::acts_unseen(character.point) || is_layout)
      out += json.substr(0, length);
    else if (character.point < 0x10000)
      out += fmt::format("\\u{:04x}", character.point);
    else
      out += fmt::format("\\u{:04x}\\u{:04x}", 0xd7c0 + (character.point >> 10U),
                         0xdc00 + (character.point & 0x3ffU));
    json.remove_prefix(length);
  }
  return out;
}

std::size_t unfinished_bytes(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (os::is_utf8_continuation(text[text.size() - back])) continue;
    return os::utf8_length_from(byte) > back ? back : 0;
  }
  return 0;
}

void print(std::string_view text) { write_out(STDOUT_FILENO, text); }

void print_json(std::string_view json) {
  print(is_terminal(STDOUT_FILENO) ? escape_json(json) : std::string(json));
  if (!json.ends_with('\n')) print("\n");
}

void say(std::string_view message) {
  write_out(STDERR_FILENO, "proofhouse: " + escape_text(message) + "\n");
}

bool is_terminal(int fd) { return ::isatty(fd) == 1; }

StatusLine::StatusLine() {
  const char* const kind = std::getenv("TERM");
  is_shown_ = is_terminal(STDERR_FILENO) && kind != nullptr && std::string_view(kind) != "dumb";
}

StatusLine::~StatusLine() { clear(); }

void StatusLine::show(std::string_view text) {
  if (!is_shown_) return;
  std::string line = escape_line(text);
  // A longer line would wrap, and then could not be written over.
  const std::size_t most = columns() - 1;
  if (line.size() > most) line.resize(most - unfinished_bytes(line.substr(0, most)));
  write_out(STDERR_FILENO, "\r\x1b[K" + line);
  is_written_ = true;
}

void StatusLine::clear() {
  if (is_written_) write_out(STDERR_FILENO, "\r\x1b[K");
  is_written_ = false;
}

CommandFence::CommandFence() {
  const char* const github = std::getenv("GITHUB_ACTIONS");
  if (github == nullptr || std::string_view(github) != "true") return;
  token_ = os::random_hex(16);
  print("::stop-commands::" + token_ + "\n");
}

CommandFence::~CommandFence() {
  if (!token_.empty()) print("\n::" + token_ + "::\n");
}

}  // namespace runner::cli
