// Identifiers: random bytes, sortable unique ids, strong string types.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "sandbox/os/result.h"

namespace os {

// `count` bytes of getrandom(2).
std::string random_bytes(std::size_t count);

// `count` random bytes as hexadecimal digits.
std::string random_hex(std::size_t count);

// A ULID (26 characters of Crockford base 32, lower case): 48 bits of milliseconds since the epoch,
// 80 random bits; ids of one process never decrease. Source: github.com/ulid/spec.
std::string make_ulid();

// A string with a meaning: Tag makes each kind a type of its own.
template <class Tag>
class Name {
 public:
  Name() = default;
  explicit Name(std::string text) : text_(std::move(text)) {}
  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const Name&) const = default;

 private:
  std::string text_;
};

// True for 1..64 characters of [a-z0-9_-.] beginning with a letter or digit: fit for a file name,
// a URL path segment and a log line.
bool is_plain_name(std::string_view text);

}  // namespace os

template <class Tag>
struct std::hash<os::Name<Tag>> {
  std::size_t operator()(const os::Name<Tag>& name) const noexcept {
    return std::hash<std::string>{}(name.str());
  }
};
