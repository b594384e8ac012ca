// SHA-256 digests (OpenSSL EVP) as a value type.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sandbox/os/result.h"

namespace os {

// A SHA-256 digest; printed and stored as 64 lower-case hexadecimal digits.
struct Sha256 {
  std::array<std::uint8_t, 32> bytes{};

  auto operator<=>(const Sha256&) const = default;
  std::string hex() const;
  // 64 lower-case hexadecimal digits, else invalid.
  static Result<Sha256> parse(std::string_view hex);
};

// Digest of a byte string.
Sha256 sha256(std::string_view bytes);

// Digest in pieces; not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;
  void update(std::string_view bytes);
  // The digest of all bytes so far; the stream is used up.
  Sha256 finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// SHA-1 in pieces, for git's object ids only: nothing of ours is named by it. Not thread-safe.
class Sha1Stream {
 public:
  Sha1Stream();
  ~Sha1Stream();
  Sha1Stream(Sha1Stream&&) noexcept;
  Sha1Stream& operator=(Sha1Stream&&) noexcept;
  void update(std::string_view bytes);
  // The 20 bytes of the digest; the stream is used up.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// Digest of everything from the descriptor's position to its end, and how many bytes that was.
struct FileDigest {
  Sha256 digest;
  std::uint64_t bytes = 0;
};
Result<FileDigest> sha256_of(int fd);

// Compares in time that depends on the lengths only (for secrets).
bool equal_constant_time(std::string_view left, std::string_view right);

// Lower-case hexadecimal digits of bytes.
std::string to_hex(std::string_view bytes);

}  // namespace os
