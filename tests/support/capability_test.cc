#include "tests/support/capability.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <gtest/gtest.h>

namespace tests {
namespace {

TEST(Capability, IsMissingWhenNobodyKnowsItsName) {
  EXPECT_EQ(why_missing("flux_capacitor"), "unknown capability");
}

TEST(Capability, IsExpectedOnlyByItsWholeName) {
  const char* const before = std::getenv("EXPECT_CAPABILITIES");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("EXPECT_CAPABILITIES", "root,userns", 1);
  EXPECT_TRUE(is_expected("root"));
  EXPECT_TRUE(is_expected("userns"));
  EXPECT_FALSE(is_expected("user"));
  EXPECT_FALSE(is_expected(""));
  EXPECT_TRUE(is_everything_built());
  ::setenv("EXPECT_CAPABILITIES", "", 1);
  EXPECT_FALSE(is_everything_built());
  ::setenv("EXPECT_CAPABILITIES", saved.c_str(), 1);
}

TEST(Capability, ProbesGiveOneLineEachAndLeaveNoGroupBehind) {
  for (const Capability& capability : all_capabilities()) {
    EXPECT_EQ(why_missing(capability.name).find('\n'), std::string::npos) << capability.name;
  }
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("/sys/fs/cgroup", ignored)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("proofhouse-probe-")) << entry.path();
  }
}

TEST(Capability, SkipsWithAReasonWhereItIsMissing) {
  REQUIRE_CAPABILITY(cgroup2);
  EXPECT_TRUE(std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers"));
}

}  // namespace
}  // namespace tests
