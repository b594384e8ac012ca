#include "sandbox/os/signature.h"

#include <gtest/gtest.h>

#include "sandbox/os/base64.h"
#include "sandbox/os/digest.h"

namespace os {
namespace {

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// PKCS #8 of an Ed25519 key is this head and the 32 bytes (RFC 8410 §7).
SigningKey key_of(std::string_view raw_hex) {
  const std::string der = from_hex("302e020100300506032b657004220420" + std::string(raw_hex));
  auto key = SigningKey::from_pem("-----BEGIN PRIVATE KEY-----\n" + base64_encode(der) +
                                  "\n-----END PRIVATE KEY-----\n");
  EXPECT_TRUE(key.has_value());
  return std::move(*key);
}

TEST(Base64, GivesTheExamplesOfItsStandard) {
  // RFC 4648 §10.
  const std::pair<const char*, const char*> examples[] = {{"", ""},
                                                          {"f", "Zg=="},
                                                          {"fo", "Zm8="},
                                                          {"foo", "Zm9v"},
                                                          {"foob", "Zm9vYg=="},
                                                          {"fooba", "Zm9vYmE="},
                                                          {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value_or("?"), bytes);
  }
  EXPECT_EQ(base64_encode(from_hex("fffefd")), "//79");
}

TEST(Base64, RefusesWhatHasAnotherFormToo) {
  for (const char* const text :
       {"Zg", "Zg=", "Zh==", "Zm9=", "Z===", "====", "Zm9v\n", "Zg==Zg==", "Zm9_", "=Zg="})
    EXPECT_FALSE(base64_decode(text).has_value()) << text;
}

TEST(Signature, IsThatOfTheStandard) {
  // RFC 8032 §7.1, test 2.
  const SigningKey key = key_of("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const std::string signature = key.sign("r");
  EXPECT_EQ(to_hex(signature),
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(key.public_key().verifies("r", signature));
}

TEST(Signature, HoldsForItsMessageAndKeyOnly) {
  const SigningKey key = *SigningKey::generate();
  const SigningKey other = *SigningKey::generate();
  std::string signature = key.sign("message");
  EXPECT_TRUE(key.public_key().verifies("message", signature));
  EXPECT_FALSE(key.public_key().verifies("messagf", signature));
  EXPECT_FALSE(other.public_key().verifies("message", signature));
  EXPECT_NE(key.public_key().id(), other.public_key().id());
  signature[5] = static_cast<char>(signature[5] ^ 1);
  EXPECT_FALSE(key.public_key().verifies("message", signature));
  EXPECT_FALSE(key.public_key().verifies("message", signature.substr(1)));
  EXPECT_FALSE(key.public_key().verifies("message", ""));
}

TEST(Signature, KeysAreKeptAsPem) {
  const SigningKey key = *SigningKey::generate();
  const auto again = SigningKey::from_pem(key.private_pem());
  ASSERT_TRUE(again.has_value());
  const auto read = PublicKey::from_pem(key.public_key().pem());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->id(), key.public_key().id());
  EXPECT_TRUE(read->verifies("m", again->sign("m")));
  EXPECT_FALSE(PublicKey::from_pem(key.public_key().pem() + "x").has_value());
  EXPECT_FALSE(PublicKey::from_pem(key.private_pem()).has_value());
  EXPECT_FALSE(PublicKey::from_pem("").has_value());
}

TEST(Hmac, IsThatOfTheStandard) {
  // RFC 4231 §4.3.
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace os
