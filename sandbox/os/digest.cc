#include "sandbox/os/digest.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace os {

struct Sha256Stream::Context {
  EVP_MD_CTX* evp = nullptr;
  ~Context() { EVP_MD_CTX_free(evp); }
};

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += kDigits[value >> 4U];
    hex += kDigits[value & 15U];
  }
  return hex;
}

std::string Sha256::hex() const {
  std::string raw;
  for (const std::uint8_t byte : bytes) raw += static_cast<char>(byte);
  return to_hex(raw);
}

Result<Sha256> Sha256::parse(std::string_view hex) {
  const auto value = [](char digit) -> int {
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
  };
  Sha256 digest;
  if (hex.size() != digest.bytes.size() * 2)
    return fail(Code::invalid, "a SHA-256 has 64 hexadecimal digits");
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    const int high = value(hex[2 * i]);
    const int low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return fail(Code::invalid, "a SHA-256 has 64 hexadecimal digits");
    digest.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

Sha256Stream::Sha256Stream() : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  check(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1,
        "SHA-256 is available");
}

Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::update(std::string_view bytes) {
  check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1, "SHA-256 update");
}

Sha256 Sha256Stream::finish() {
  Sha256 digest;
  unsigned int length = 0;
  check(EVP_DigestFinal_ex(context_->evp, digest.bytes.data(), &length) == 1, "SHA-256 finish");
  return digest;
}

struct Sha1Stream::Context {
  EVP_MD_CTX* evp = nullptr;
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha1Stream::Sha1Stream() : context_(std::make_unique<Context>()) {
  context_->evp = EVP_MD_CTX_new();
  check(context_->evp != nullptr && EVP_DigestInit_ex(context_->evp, EVP_sha1(), nullptr) == 1,
        "SHA-1 is available");
}

Sha1Stream::~Sha1Stream() = default;
Sha1Stream::Sha1Stream(Sha1Stream&&) noexcept = default;
Sha1Stream& Sha1Stream::operator=(Sha1Stream&&) noexcept = default;

void Sha1Stream::update(std::string_view bytes) {
  check(EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size()) == 1, "SHA-1 update");
}

std::string Sha1Stream::finish() {
  std::array<unsigned char, 20> digest{};
  unsigned int length = 0;
  check(EVP_DigestFinal_ex(context_->evp, digest.data(), &length) == 1, "SHA-1 finish");
  return {digest.begin(), digest.end()};
}

Sha256 sha256(std::string_view bytes) {
  Sha256Stream stream;
  stream.update(bytes);
  return stream.finish();
}

Result<FileDigest> sha256_of(int fd) {
  Sha256Stream stream;
  FileDigest result;
  std::array<char, 65536> buffer{};
  while (true) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read for digest");
    if (got == 0) break;
    stream.update({buffer.data(), static_cast<std::size_t>(got)});
    result.bytes += static_cast<std::uint64_t>(got);
  }
  result.digest = stream.finish();
  return result;
}

bool equal_constant_time(std::string_view left, std::string_view right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace os
