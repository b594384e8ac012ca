#include "sandbox/outcome.h"

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace sandbox {
namespace {

constexpr std::array<std::pair<OutcomeKind, std::string_view>, 6> kKinds{{
    {OutcomeKind::exited, "exited"},
    {OutcomeKind::signalled, "signalled"},
    {OutcomeKind::timed_out, "timed_out"},
    {OutcomeKind::killed, "killed"},
    {OutcomeKind::cancelled, "cancelled"},
    {OutcomeKind::setup_failed, "setup_failed"},
}};

}  // namespace

Outcome Outcome::exited(int code) {
  Outcome outcome;
  outcome.kind = OutcomeKind::exited;
  outcome.code = code;
  return outcome;
}

Outcome Outcome::signalled(int signal) {
  Outcome outcome;
  outcome.kind = OutcomeKind::signalled;
  outcome.signal = signal;
  return outcome;
}

Outcome Outcome::timed_out(std::string limit) {
  Outcome outcome;
  outcome.kind = OutcomeKind::timed_out;
  outcome.limit = std::move(limit);
  return outcome;
}

Outcome Outcome::killed(std::string limit) {
  Outcome outcome;
  outcome.kind = OutcomeKind::killed;
  outcome.limit = std::move(limit);
  return outcome;
}

Outcome Outcome::cancelled() {
  Outcome outcome;
  outcome.kind = OutcomeKind::cancelled;
  return outcome;
}

Outcome Outcome::setup_failed(std::string step, int error_number) {
  Outcome outcome;
  outcome.kind = OutcomeKind::setup_failed;
  outcome.step = std::move(step);
  outcome.error_number = error_number;
  return outcome;
}

std::string_view outcome_kind_name(OutcomeKind kind) {
  for (const auto& [known, name] : kKinds)
    if (known == kind) return name;
  os::check(false, "every outcome kind has a name");
  return {};
}

os::Result<OutcomeKind> parse_outcome_kind(std::string_view name) {
  for (const auto& [kind, known] : kKinds)
    if (known == name) return kind;
  return os::fail(os::Code::invalid, fmt::format("'{}' is no kind of outcome", name));
}

std::string describe(const Outcome& outcome) {
  switch (outcome.kind) {
    case OutcomeKind::exited:
      return fmt::format("exited with {}", outcome.code);
    case OutcomeKind::signalled:
      return fmt::format("killed by signal {}", outcome.signal);
    case OutcomeKind::timed_out:
      return fmt::format("timed out ({})", outcome.limit);
    case OutcomeKind::killed:
      return fmt::format("killed ({})", outcome.limit);
    case OutcomeKind::cancelled:
      return "cancelled";
    case OutcomeKind::setup_failed:
      break;
  }
  const char* text = outcome.error_number == 0 ? nullptr : ::strerrordesc_np(outcome.error_number);
  return fmt::format("set-up failed at {}{}{}", outcome.step, text != nullptr ? ": " : "",
                     text != nullptr ? text : "");
}

}  // namespace sandbox
