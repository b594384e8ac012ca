// Base64 (RFC 4648 §4): the standard alphabet, padded.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/os/result.h"

namespace os {

std::string base64_encode(std::string_view bytes);

// Strict: no line breaks, padding where it belongs, no bits left over. invalid otherwise.
Result<std::string> base64_decode(std::string_view text);

}  // namespace os
