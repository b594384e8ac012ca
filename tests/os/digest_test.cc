#include "sandbox/os/digest.h"

#include <fcntl.h>

#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"

namespace os {
namespace {

// Vectors of FIPS 180-2, appendix B.
constexpr const char* kOfNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfAMillion =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, AgreesWithTheStandardsVectors) {
  EXPECT_EQ(sha256("").hex(), kOfNothing);
  EXPECT_EQ(sha256("abc").hex(), kOfAbc);
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')).hex(), kOfAMillion);
}

TEST(Sha256, InPiecesIsTheSame) {
  Sha256Stream stream;
  for (int i = 0; i < 1000; ++i) stream.update(std::string(1000, 'a'));
  EXPECT_EQ(stream.finish().hex(), kOfAMillion);
}

TEST(Sha256, OfAFileCountsItsBytes) {
  const TempDir directory = TempDir::create().value();
  ASSERT_TRUE(write_file_durably(directory / "file", std::string(1'000'000, 'a')).has_value());
  const Fd file = open_file(directory / "file", O_RDONLY).value();
  const FileDigest digest = sha256_of(file.get()).value();
  EXPECT_EQ(digest.digest.hex(), kOfAMillion);
  EXPECT_EQ(digest.bytes, 1'000'000U);
  EXPECT_FALSE(sha256_of(-1).has_value());
}

TEST(Sha256, ReadsBackFromItsDigitsOnly) {
  EXPECT_EQ(Sha256::parse(kOfAbc).value(), sha256("abc"));
  std::string upper = kOfAbc;
  upper[0] = 'B';
  EXPECT_EQ(Sha256::parse(upper).error().code, Code::invalid);
  EXPECT_EQ(Sha256::parse("").error().code, Code::invalid);
  EXPECT_EQ(Sha256::parse(std::string(kOfAbc) + "0").error().code, Code::invalid);
}

TEST(EqualConstantTime, ComparesWholeStrings) {
  EXPECT_TRUE(equal_constant_time("token", "token"));
  EXPECT_TRUE(equal_constant_time("", ""));
  EXPECT_FALSE(equal_constant_time("token", "tokem"));
  EXPECT_FALSE(equal_constant_time("token", "toke"));
}

TEST(ToHex, KeepsBytesOver127) { EXPECT_EQ(to_hex("\xff\x00z"), "ff"); }

TEST(ToHex, KeepsZeroBytes) { EXPECT_EQ(to_hex(std::string_view("\xff\x00z", 3)), "ff007a"); }

}  // namespace
}  // namespace os
