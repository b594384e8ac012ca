// Words for reasons: bounded, on one line, whatever the measured thing printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tasks/policy.h"

namespace gates {

// Text from a change (names, messages) on one line: control characters become spaces, runs of
// spaces one, and what is over `most` bytes is cut at a character with "…" in its place.
std::string one_line(std::string_view text, std::size_t most = 400);

// "1 test", "2 tests".
std::string counted(std::int64_t count, std::string_view noun);

// A figure of a reason: 1.05 is 1,050,000.
std::int64_t millionths(double ratio);

// "10%", "2.5%", "0.0001%".
std::string percent(tasks::Share share);

}  // namespace gates
