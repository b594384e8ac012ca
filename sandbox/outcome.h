// Outcome: how a command ended, in the closed words of the design.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sandbox/os/result.h"

namespace sandbox {

enum class OutcomeKind : std::uint8_t {
  exited,        // code
  signalled,     // signal: by itself or by another process of its own sandbox
  timed_out,     // limit: wall, cpu or idle
  killed,        // limit: memory or output
  cancelled,     // somebody asked
  setup_failed,  // step and errno: the command never ran
};

// One ending. Only the fields of its kind are set, all others are zero or empty.
struct Outcome {
  OutcomeKind kind = OutcomeKind::setup_failed;
  int code = 0;          // exited
  int signal = 0;        // signalled
  std::string limit;     // timed_out, killed
  std::string step;      // setup_failed: the step of the jail, for example "mount /proc"
  int error_number = 0;  // setup_failed: errno, 0 if there was none

  static Outcome exited(int code);
  static Outcome signalled(int signal);
  static Outcome timed_out(std::string limit);
  static Outcome killed(std::string limit);
  static Outcome cancelled();
  static Outcome setup_failed(std::string step, int error_number);

  bool is_success() const { return kind == OutcomeKind::exited && code == 0; }
  bool operator==(const Outcome&) const = default;
};

std::string_view outcome_kind_name(OutcomeKind kind);
os::Result<OutcomeKind> parse_outcome_kind(std::string_view name);

// "exited with 1", "killed by signal 11", "timed out (wall)", "killed (memory)", "cancelled",
// "set-up failed at mount /proc: Permission denied".
std::string describe(const Outcome& outcome);

}  // namespace sandbox
