// Tokens: made from 256 random bits, shown once, stored as their SHA-256.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runner/store/records.h"

namespace runner {

struct NewToken {
  std::string secret;  // "ph_<64 hex digits>_<8 hex digits of its SHA-256>": scanners find it
  store::TokenRow row;
};

// A token of `principal` that expires after `lifetime`.
NewToken make_token(const std::string& principal, std::chrono::seconds lifetime);

// True if the text has a token's form and checksum; nothing is looked up.
bool is_token(std::string_view text);

}  // namespace runner
