// The version of this program, as recorded in evidence and answered by the API.
#pragma once

namespace runner {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace runner
