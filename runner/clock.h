// The time of day as the records hold it.
#pragma once

#include <chrono>
#include <string>

namespace runner {

// Now as RFC 3339 UTC text.
std::string now_text();

// Now plus `delay` (which may be negative), in the same form.
std::string time_text_after(std::chrono::milliseconds delay);

}  // namespace runner
