#include "sandbox/outcome.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace sandbox {
namespace {

TEST(Outcome, OnlyExitZeroIsSuccess) {
  EXPECT_TRUE(Outcome::exited(0).is_success());
  EXPECT_FALSE(Outcome::exited(1).is_success());
  EXPECT_FALSE(Outcome::signalled(9).is_success());
  EXPECT_FALSE(Outcome::timed_out("wall").is_success());
  EXPECT_FALSE(Outcome::killed("memory").is_success());
  EXPECT_FALSE(Outcome::cancelled().is_success());
  EXPECT_FALSE(Outcome().is_success());
}

TEST(Outcome, IsDescribedInAFewWords) {
  EXPECT_EQ(describe(Outcome::exited(1)), "exited with 1");
  EXPECT_EQ(describe(Outcome::signalled(11)), "killed by signal 11");
  EXPECT_EQ(describe(Outcome::timed_out("wall")), "timed out (wall)");
  EXPECT_EQ(describe(Outcome::killed("memory")), "killed (memory)");
  EXPECT_EQ(describe(Outcome::cancelled()), "cancelled");
  EXPECT_EQ(describe(Outcome::setup_failed("mount /proc", EACCES)),
            "set-up failed at mount /proc: Permission denied");
  EXPECT_EQ(describe(Outcome::setup_failed("start", 0)), "set-up failed at start");
}

TEST(Outcome, KindsReadBackFromTheirNames) {
  for (const OutcomeKind kind :
       {OutcomeKind::exited, OutcomeKind::signalled, OutcomeKind::timed_out, OutcomeKind::killed,
        OutcomeKind::cancelled, OutcomeKind::setup_failed})
    EXPECT_EQ(parse_outcome_kind(outcome_kind_name(kind)).value(), kind);
  EXPECT_EQ(parse_outcome_kind("died").error().code, os::Code::invalid);
  EXPECT_EQ(parse_outcome_kind("").error().code, os::Code::invalid);
}

}  // namespace
}  // namespace sandbox
