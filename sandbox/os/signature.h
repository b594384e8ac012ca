// Ed25519 signatures (RFC 8032) and HMAC-SHA256 (RFC 2104), by OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sandbox/os/result.h"

struct evp_pkey_st;

namespace os {

namespace detail {
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using KeyHandle = std::unique_ptr<evp_pkey_st, FreeKey>;
}  // namespace detail

// Who made a signature. Safe from several threads.
class PublicKey {
 public:
  // SubjectPublicKeyInfo in PEM, and nothing else in the text; invalid if it is no Ed25519 key.
  static Result<PublicKey> from_pem(std::string_view pem);
  std::string pem() const;
  // SHA-256 of the SubjectPublicKeyInfo in DER, 64 hexadecimal digits.
  std::string id() const;
  // `signature`: 64 bytes.
  bool verifies(std::string_view message, std::string_view signature) const;

 private:
  friend class SigningKey;
  explicit PublicKey(detail::KeyHandle handle) : handle_(std::move(handle)) {}
  detail::KeyHandle handle_;
};

// A private key. Safe from several threads.
class SigningKey {
 public:
  static Result<SigningKey> generate();
  // PKCS #8 in PEM; invalid if it is no Ed25519 key.
  static Result<SigningKey> from_pem(std::string_view pem);
  std::string private_pem() const;
  PublicKey public_key() const;
  // The 64 bytes of the signature.
  std::string sign(std::string_view message) const;

 private:
  explicit SigningKey(detail::KeyHandle handle) : handle_(std::move(handle)) {}
  detail::KeyHandle handle_;
};

// The 32 bytes of HMAC-SHA256.
std::string hmac_sha256(std::string_view key, std::string_view message);

}  // namespace os
