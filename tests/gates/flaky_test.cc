// Reruns of tests that failed.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using gates::FailureClass;
using gates::GateResult;
using gates::GateStatus;
using gates::Judgement;
using gates::Verdict;
using tasks::CaseStatus;
using tasks::Side;
using tests::gate_of;
using tests::passing;
using tests::ScriptedTask;
using tests::with_status;
using tests::without;

const std::vector<std::string> kRingTests{"Ring.Empty", "Ring.Grows", "Ring.Wraps"};

// A task whose only gate judges the step `test`, with the cases of kRingTests on both sides.
class FlakyTest : public testing::Test {
 protected:
  FlakyTest() {
    task_.policy.gates.resize(1);
    base().cases = passing(kRingTests);
    change().cases = passing(kRingTests);
  }
  tests::Script& base() { return task_.on(Side::base, "test"); }
  tests::Script& change() { return task_.on(Side::change, "test"); }
  const GateResult& result() {
    judgement_ = task_.judge();
    return gate_of(judgement_, "tests");
  }
  void expect_rejected(const std::string& text) {
    const GateResult& gate = result();
    EXPECT_EQ(gate.status, GateStatus::failed);
    EXPECT_EQ(gate.failure, FailureClass::test);
    ASSERT_FALSE(gate.reasons.empty());
    EXPECT_EQ(gate.reasons.front().where, "Ring.Wraps");
    EXPECT_TRUE(gate.reasons.front().text.contains(text)) << gate.reasons.front().text;
    EXPECT_EQ(judgement_.verdict, Verdict::rejected);
  }

  ScriptedTask task_;
  Judgement judgement_;
};

// The test passes in the runs whose number (0: the first) is in `good`, on that side.
std::function<std::vector<tasks::TestCase>(const tasks::RunKey&)> passing_in(
    const std::set<int>& good) {
  return [good](const tasks::RunKey& key) {
    const bool passes = good.contains(key.rerun.value_or(0));
    return passes ? passing(kRingTests)
                  : with_status(passing(kRingTests), "Ring.Wraps", CaseStatus::failed);
  };
}

TEST_F(FlakyTest, LeavesATestThatOnlyTheChangeMakesFlakyInconclusive) {
  task_.policy.gates.front().reruns = 3;
  change().cases_of = passing_in({1, 3});
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_EQ(gate.failure, FailureClass::flaky);
  ASSERT_FALSE(gate.reasons.empty());
  const gates::Reason& reason = gate.reasons.front();
  EXPECT_EQ(reason.where, "Ring.Wraps");
  EXPECT_TRUE(reason.text.contains("passed 2 of 4 runs, on the base 4 of 4 runs")) << reason.text;
  EXPECT_EQ(reason.figures.at("passed"), 2);
  EXPECT_EQ(reason.figures.at("base_runs"), 4);
  EXPECT_EQ(judgement_.verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement_.failure, FailureClass::flaky);
  EXPECT_EQ(judgement_.asks.size(), 1U);
}

TEST_F(FlakyTest, NotesATestThatIsFlakyOnTheBaseToo) {
  task_.policy.gates.front().reruns = 3;
  base().cases_of = passing_in({0, 2, 3});
  change().cases_of = passing_in({2});
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed) << gate.summary;
  ASSERT_FALSE(gate.reasons.empty());
  EXPECT_TRUE(gate.reasons.front().text.contains("flaky: Ring.Wraps")) << gate.reasons.front().text;
  EXPECT_TRUE(gate.reasons.front().text.contains("1 of 4 runs, on the base 3 of 4 runs"));
}

TEST_F(FlakyTest, LeavesATestThatTheBaseNeverPassesInconclusive) {
  task_.policy.gates.front().reruns = 1;
  base().cases_of = passing_in({});
  change().cases_of = passing_in({1});
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_TRUE(gate.reasons.front().text.contains("on the base 0 of 2 runs"));
}

TEST_F(FlakyTest, FailsATestThatFailsInEveryRerunAndRunsTheBaseNoMore) {
  task_.policy.gates.front().reruns = 2;
  change().cases_of = passing_in({});
  expect_rejected("passed 0 of 3 runs");
  EXPECT_EQ(std::ranges::count(task_.trace, "test rerun 2 change"), 1);
  EXPECT_EQ(std::ranges::count(task_.trace, "test rerun 1 base"), 0);
}

TEST_F(FlakyTest, MakesNoRerunsWhereSomethingElseHasFailedToo) {
  task_.policy.gates.front().reruns = 2;
  change().cases =
      without(with_status(passing(kRingTests), "Ring.Wraps", CaseStatus::failed), "Ring.Empty");
  EXPECT_EQ(result().status, GateStatus::failed);
  EXPECT_EQ(std::ranges::count(task_.trace, "test rerun 1 change"), 0);
}

TEST_F(FlakyTest, MakesNoRerunsWithoutABudget) {
  change().cases_of = passing_in({1});
  expect_rejected("failed");
  EXPECT_EQ(std::ranges::count(task_.trace, "test rerun 1 change"), 0);
}

TEST_F(FlakyTest, LeavesANewFlakyTestInconclusive) {
  task_.policy.gates.front().reruns = 1;
  base().cases = without(passing(kRingTests), "Ring.Wraps");
  change().cases_of = passing_in({1});
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_TRUE(gate.reasons.front().text.contains("the base does not have it"));
}

}  // namespace
