// Log: one line a state change of the service, for the operator.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace runner {

// error: a person must act. warn: degraded. info: one line a change of state.
enum class LogLevel : std::uint8_t { info, warn, error };

// Writes "<time> <level> <message> key=value …" to standard error, one write(2) a line. Values are
// escaped (nothing in them acts on a terminal) and cut at 500 characters. Safe from any thread.
// Never given secrets or what a change printed.
using LogFields = std::initializer_list<std::pair<std::string_view, std::string_view>>;
void log_line(LogLevel level, std::string_view message, LogFields fields = {});

}  // namespace runner
