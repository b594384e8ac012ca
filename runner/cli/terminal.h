// Terminal: what the command line prints, and how text of others is made harmless first.
#pragma once

#include <string>
#include <string_view>

namespace runner::cli {

// Text of others, safe to print: every control character but newline and tab, DEL, C1 controls,
// bidirectional controls, zero-width and line-separating characters become visible escapes
// ("\x1b", "\u202e"), and so do bytes that are no UTF-8 ("\xff").
std::string escape_text(std::string_view text);

// The same on one line: newline and tab are escaped too.
std::string escape_line(std::string_view text);

// JSON, with everything that could act on a terminal escaped in JSON's own way: it stays the same
// value.
std::string escape_json(std::string_view json);

// What escape_text would hold back of a stream that goes on: bytes of an unfinished character at
// the end, at most 3.
std::size_t unfinished_bytes(std::string_view text);

// Data on standard output. Ends the program as SIGPIPE would when nobody reads it any more.
void print(std::string_view text);

// A JSON value on standard output and a newline; escaped if that is a terminal.
void print_json(std::string_view json);

// A message for people on standard error, "proofhouse: …" and a newline. Escapes controls.
void say(std::string_view message);

bool is_terminal(int fd);

// One line of progress on standard error that is written over; nothing where that is no terminal.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  bool is_shown() const { return is_shown_; }
  void show(std::string_view text);
  // Takes the line away, so that something else can be printed.
  void clear();

 private:
  bool is_shown_ = false;
  bool is_written_ = false;
};

// Wraps text that may hold lines of a build into what a CI system needs so as not to obey them:
// on GitHub (GITHUB_ACTIONS=true) workflow commands are switched off around it.
class CommandFence {
 public:
  CommandFence();
  ~CommandFence();
  CommandFence(const CommandFence&) = delete;
  CommandFence& operator=(const CommandFence&) = delete;

 private:
  std::string token_;
};

}  // namespace runner::cli
