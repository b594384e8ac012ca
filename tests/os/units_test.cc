#include "sandbox/os/units.h"

#include <string>

#include <gtest/gtest.h>

namespace os {
namespace {

using std::chrono::milliseconds;

TEST(Bytes, AreReadInPowersOf1024) {
  EXPECT_EQ(parse_bytes("512").value(), Bytes{512});
  EXPECT_EQ(parse_bytes("64KiB").value(), 64_KiB);
  EXPECT_EQ(parse_bytes("64K").value(), 64_KiB);
  EXPECT_EQ(parse_bytes("2MiB").value(), 2_MiB);
  EXPECT_EQ(parse_bytes("3G").value(), 3_GiB);
}

TEST(Bytes, RefuseWhatIsNotClear) {
  for (const char* const text : {"", "x", "-1", "1.5MiB", "1 MiB", "1mib", "1TiB", "MiB", "1KiBx"})
    EXPECT_EQ(parse_bytes(text).error().code, Code::invalid) << text;
  for (const char* const text : {"1KB", "1MB", "1GB"})
    EXPECT_NE(parse_bytes(text).error().message.find("ambiguous"), std::string::npos) << text;
}

TEST(Bytes, RefuseWhatIsTooLarge) {
  EXPECT_FALSE(parse_bytes("9223372036854775808").has_value());
  EXPECT_FALSE(parse_bytes("8589934592GiB").has_value());
  EXPECT_FALSE(parse_bytes("99999999999999999999").has_value());
  EXPECT_TRUE(parse_bytes("9223372036854775807").has_value());
}

TEST(Bytes, ArePrintedInTheLargestWholeUnit) {
  EXPECT_EQ(format_bytes(2_GiB), "2GiB");
  EXPECT_EQ(format_bytes(1536_MiB), "1536MiB");
  EXPECT_EQ(format_bytes(Bytes{1025}), "1025");
  EXPECT_EQ(format_bytes(Bytes{0}), "0");
  for (const char* const text : {"1GiB", "3MiB", "7KiB", "123"})
    EXPECT_EQ(format_bytes(parse_bytes(text).value()), text);
}

TEST(Duration, NeedsItsUnit) {
  EXPECT_EQ(parse_duration("90s").value(), milliseconds(90'000));
  EXPECT_EQ(parse_duration("250ms").value(), milliseconds(250));
  EXPECT_EQ(parse_duration("10m").value(), milliseconds(600'000));
  EXPECT_EQ(parse_duration("2h").value(), milliseconds(7'200'000));
  for (const char* const text : {"", "90", "1d", "-1s", "1.5s", "s", "99999999999h"})
    EXPECT_EQ(parse_duration(text).error().code, Code::invalid) << text;
}

TEST(Duration, IsPrintedSoThatItReadsBack) {
  for (const char* const text : {"1h", "90s", "61s", "2m", "1ms", "0s"})
    EXPECT_EQ(format_duration(parse_duration(text).value()), text);
}

TEST(Percent, IsExactInMillionths) {
  EXPECT_EQ(parse_percent_millionths("10%").value(), 100'000);
  EXPECT_EQ(parse_percent_millionths("2.5%").value(), 25'000);
  EXPECT_EQ(parse_percent_millionths("0.0001%").value(), 1);
  EXPECT_EQ(parse_percent_millionths("0%").value(), 0);
  EXPECT_EQ(parse_percent_millionths("1000%").value(), 10'000'000);
}

TEST(Percent, RefusesWhatIsNotOne) {
  for (const char* const text :
       {"", "%", "10", "-1%", "1.%", "1.00001%", "1001%", "1000.1%", "1e2%"})
    EXPECT_EQ(parse_percent_millionths(text).error().code, Code::invalid) << text;
}

TEST(Time, ReadsBackToTheMillisecond) {
  const char* const text = "2026-11-30T12:00:00.123Z";
  EXPECT_EQ(format_time(parse_time(text).value()), text);
  EXPECT_EQ(format_time(std::chrono::system_clock::time_point{}), "1970-01-01T00:00:00.000Z");
  for (const char* const bad : {"", "2026-11-30", "2026-11-30T12:00:00Z",
                                "2026-11-30T12:00:00.123+1", "2026-11-30T12:00:00.123Zx"})
    EXPECT_EQ(parse_time(bad).error().code, Code::invalid) << bad;
}

}  // namespace
}  // namespace os
