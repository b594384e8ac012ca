#include "runner/clock.h"

#include "sandbox/os/units.h"

namespace runner {

std::string now_text() { return os::format_time(std::chrono::system_clock::now()); }

std::string time_text_after(std::chrono::milliseconds delay) {
  return os::format_time(std::chrono::system_clock::now() + delay);
}

}  // namespace runner
