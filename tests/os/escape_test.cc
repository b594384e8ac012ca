#include "sandbox/os/escape.h"

#include <gtest/gtest.h>

namespace os {
namespace {

TEST(Escape, EncodesWhatAUrlWouldReadOtherwise) {
  EXPECT_EQ(percent_encode("aZ09-_.~"), "aZ09-_.~");
  EXPECT_EQ(percent_encode("a/b c%\xc3\xa4\n"), "a%2Fb%20c%25%C3%A4%0A");
  EXPECT_EQ(percent_encode("a/b?c", "/"), "a/b%3Fc");
  EXPECT_EQ(percent_encode(std::string_view("\0", 1)), "%00");
}

TEST(Escape, ReplacesWhatIsMarkup) {
  EXPECT_EQ(escape_markup("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_TRUE(markup_entity('=').empty());
}

TEST(Escape, KnowsCharactersThatActUnseen) {
  for (const std::uint32_t point :
       {0x00U, 0x1bU, 0x7fU, 0x9bU, 0xadU, 0x61cU, 0x180eU, 0x200bU, 0x200fU, 0x2028U, 0x202eU,
        0x2066U, 0x3164U, 0xfe0fU, 0xfeffU, 0xfff9U, 0xe0041U, 0xe0fffU})
    EXPECT_TRUE(acts_unseen(point)) << std::hex << point;
  for (const std::uint32_t point :
       {0x20U, 0x7eU, 0xa0U, 0xe4U, 0x2010U, 0x2030U, 0x4e2dU, 0x1f600U})
    EXPECT_FALSE(acts_unseen(point)) << std::hex << point;
}

}  // namespace
}  // namespace os
