#include "sandbox/os/ids.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace os {
namespace {

TEST(RandomHex, HasTwoDigitsAByteAndDoesNotRepeat) {
  EXPECT_EQ(random_hex(8).size(), 16U);
  EXPECT_EQ(random_hex(8).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(random_hex(16), random_hex(16));
  EXPECT_TRUE(random_bytes(0).empty());
}

TEST(Ulid, SortsInTheOrderOfMaking) {
  std::string last;
  for (int i = 0; i < 20'000; ++i) {
    std::string next = make_ulid();
    ASSERT_GT(next, last);
    last = std::move(next);
  }
}

TEST(Ulid, IsTwentySixCharactersOfLowerCaseCrockford) {
  const std::string id = make_ulid();
  EXPECT_EQ(id.size(), 26U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos);
  EXPECT_TRUE(is_plain_name(id));
}

TEST(Ulid, IsUniqueAcrossThreads) {
  std::vector<std::vector<std::string>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : made)
      threads.emplace_back([&ids] {
        for (int i = 0; i < 2000; ++i) ids.push_back(make_ulid());
      });
  }
  std::set<std::string> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), 8000U);
}

TEST(PlainName, IsFitForFileNames) {
  for (const char* const good : {"a", "0", "build", "a-b_c.d", "t.01"})
    EXPECT_TRUE(is_plain_name(good)) << good;
  EXPECT_TRUE(is_plain_name(std::string(64, 'a')));
}

TEST(PlainName, IsNeverAPathOrAnOption) {
  for (const char* const bad :
       {"", ".", "..", ".hidden", "-x", "_x", "a/b", "A", "a b", "a\n", "ä"})
    EXPECT_FALSE(is_plain_name(bad)) << bad;
  EXPECT_FALSE(is_plain_name(std::string(65, 'a')));
  EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace os
