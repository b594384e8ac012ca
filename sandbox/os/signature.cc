#include "sandbox/os/signature.h"

#include <array>
#include <cstddef>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "sandbox/os/digest.h"

namespace os {
namespace {

constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kRawKeyBytes = 32;
constexpr std::size_t kPemLimit = 4096;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes_of(std::string_view text) {
  // OpenSSL's bytes are unsigned.
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bio bio_over(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  check(bio != nullptr, "memory for a BIO");
  return bio;
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

bool is_ed25519(const EVP_PKEY* key) {
  return key != nullptr && EVP_PKEY_get_base_id(key) == EVP_PKEY_ED25519;
}

}  // namespace

void detail::FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

Result<PublicKey> PublicKey::from_pem(std::string_view pem) {
  if (pem.size() > kPemLimit) return fail(Code::invalid, "a public key is shorter than that");
  const Bio bio = bio_over(pem);
  detail::KeyHandle key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  if (!is_ed25519(key.get())) return fail(Code::invalid, "no Ed25519 public key in PEM");
  PublicKey read(std::move(key));
  // Text before or after the key might be read otherwise by somebody else.
  if (read.pem() != pem) return fail(Code::invalid, "the PEM holds more than one public key");
  return read;
}

std::string PublicKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  check(bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), handle_.get()) == 1,
        "a public key's PEM");
  return text_of(bio.get());
}

std::string PublicKey::id() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(handle_.get(), &der);
  check(size > 0, "a public key's DER");
  const std::string bytes(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return sha256(bytes).hex();
}

bool PublicKey::verifies(std::string_view message, std::string_view signature) const {
  if (signature.size() != kSignatureBytes) return false;
  const Context context(EVP_MD_CTX_new());
  check(context != nullptr, "memory for a signature");
  return EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, handle_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(message),
                          message.size()) == 1;
}

Result<SigningKey> SigningKey::generate() {
  detail::KeyHandle key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!is_ed25519(key.get())) return fail(Code::internal, "an Ed25519 key cannot be made");
  return SigningKey(std::move(key));
}

Result<SigningKey> SigningKey::from_pem(std::string_view pem) {
  if (pem.size() > kPemLimit) return fail(Code::invalid, "a private key is shorter than that");
  const Bio bio = bio_over(pem);
  detail::KeyHandle key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (!is_ed25519(key.get())) return fail(Code::invalid, "no Ed25519 private key in PEM");
  return SigningKey(std::move(key));
}

std::string SigningKey::private_pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  check(bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio.get(), handle_.get(), nullptr, nullptr,
                                                        0, nullptr, nullptr) == 1,
        "a private key's PEM");
  return text_of(bio.get());
}

PublicKey SigningKey::public_key() const {
  std::array<unsigned char, kRawKeyBytes> raw{};
  std::size_t size = raw.size();
  check(EVP_PKEY_get_raw_public_key(handle_.get(), raw.data(), &size) == 1, "a key's public half");
  return PublicKey(
      detail::KeyHandle(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw.data(), size)));
}

std::string SigningKey::sign(std::string_view message) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  check(context != nullptr &&
            EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, handle_.get()) == 1 &&
            EVP_DigestSign(context.get(), signature.data(), &size, bytes_of(message),
                           message.size()) == 1,
        "an Ed25519 signature");
  return {reinterpret_cast<const char*>(signature.data()), size};
}

std::string hmac_sha256(std::string_view key, std::string_view message) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(message),
             message.size(), digest.data(), &size) != nullptr,
        "HMAC-SHA256 is available");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

}  // namespace os
