#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

// What tests need of the machine they run on: one probe for each capability, which tries the
// thing itself (in a child process, so that nothing is left behind) and says why it is missing.
namespace tests {

// Name and meaning of a capability that REQUIRE_CAPABILITY knows.
struct Capability {
  std::string_view name;     // As written in REQUIRE_CAPABILITY and EXPECT_CAPABILITIES.
  std::string_view meaning;  // What is there when the capability is.
};

// All capabilities, in the order in which they are shown.
std::vector<Capability> all_capabilities();

// Why `name` is missing on this machine, as one line; empty when it is there. An unknown name is
// missing with the reason "unknown capability". Each probe runs once a process; not thread-safe.
std::string why_missing(std::string_view name);

// True when the environment variable EXPECT_CAPABILITIES (comma-separated names) holds `name`:
// the machine is supposed to have it, so a test that lacks it fails instead of being skipped.
bool is_expected(std::string_view name);

// True when EXPECT_CAPABILITIES names anything: such a machine has built all that is to be tested.
bool is_everything_built();

}  // namespace tests

// Skips the current test, with the reason, where the capability (a bare name, for example
// `REQUIRE_CAPABILITY(userns);`) is missing; fails it where EXPECT_CAPABILITIES names it or where
// the name is unknown. Returns from the calling function, so it stands in a TEST or in SetUp().
#define REQUIRE_CAPABILITY(name)                                                   \
  do {                                                                             \
    const std::string proofhouse_why = ::tests::why_missing(#name);                \
    if (!proofhouse_why.empty()) {                                                 \
      if (::tests::is_expected(#name) || proofhouse_why == "unknown capability") { \
        FAIL() << "expected capability " #name " is missing: " << proofhouse_why;  \
      }                                                                            \
      GTEST_SKIP() << "capability " #name " is missing: " << proofhouse_why;       \
    }                                                                              \
  } while (false)

// Skips the current test where a file that the build makes (programs.h has the paths) is missing;
// fails it where everything must have been built. Returns as REQUIRE_CAPABILITY does.
#define REQUIRE_BUILT(file)                                                              \
  do {                                                                                   \
    const std::filesystem::path proofhouse_built = (file);                               \
    if (!std::filesystem::exists(proofhouse_built)) {                                    \
      if (::tests::is_everything_built()) FAIL() << proofhouse_built << " is not built"; \
      GTEST_SKIP() << proofhouse_built << " is not built";                               \
    }                                                                                    \
  } while (false)
