#include "sandbox/os/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace os {
namespace {

TEST(Utf8, ReadsTheLeastAndTheLargestOfEachLength) {
  const struct {
    std::string_view text;
    std::uint32_t point;
  } cases[]{{"\x01", 0x01},
            {"\x7f", 0x7f},
            {"\xc2\x80", 0x80},
            {"\xdf\xbf", 0x7ff},
            {"\xe0\xa0\x80", 0x800},
            {"\xed\x9f\xbf", 0xd7ff},
            {"\xee\x80\x80", 0xe000},
            {"\xef\xbf\xbf", 0xffff},
            {"\xf0\x90\x80\x80", 0x10000},
            {"\xf4\x8f\xbf\xbf", 0x10ffff}};
  for (const auto& each : cases) {
    const Utf8Character character = decode_utf8(std::string(each.text) + "x");
    EXPECT_EQ(character.point, each.point);
    EXPECT_EQ(character.bytes, each.text.size());
  }
}

TEST(Utf8, FindsNoneInWhatIsOverlongASurrogateTooLargeOrCut) {
  for (const std::string_view text :
       {"", "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc2", "\xe2\x82",
        "\xf0\x9f\x98", "\xc2x", "\xe2\x82x", "\xf0\x9f\x98x"})
    EXPECT_EQ(decode_utf8(text).bytes, 0U) << testing::PrintToString(text);
}

}  // namespace
}  // namespace os
