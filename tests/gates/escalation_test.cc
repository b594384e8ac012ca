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

// A change that touches guarded files, judged by tests, judge and benchmark.
class EscalationTest : public testing::Test {
 protected:
  EscalationTest() {
    task_.touch_guarded();
    for (const Side side : {Side::base, Side::change, Side::mixed}) {
      task_.on(side, "test").cases = passing({"A.One", "A.Two"});
    }
  }
  tests::Script& on(Side side) { return task_.on(side, "test"); }
  ScriptedTask task_;
};

TEST_F(EscalationTest, PassesWhenBothTreesPass) {
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_FALSE(judgement.waits_for_owners);
  EXPECT_EQ(gate_of(judgement, "tests").summary,
            "2 tests passed; with the base's guarded files: 2 passed");
}

TEST_F(EscalationTest, RejectsWhatFailsWithTheBasesGuardedFiles) {
  on(Side::mixed).cases = with_status(on(Side::mixed).cases, "A.Two", CaseStatus::failed);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::test);
  EXPECT_TRUE(judgement.reason.text.ends_with("with the base's guarded files"));
}

TEST_F(EscalationTest, RejectsWhatFailsOnTheChangesOwnTree) {
  on(Side::change).cases = with_status(on(Side::change).cases, "A.Two", CaseStatus::failed);
  EXPECT_EQ(task_.judge().verdict, Verdict::rejected);
}

TEST_F(EscalationTest, RejectsATestThatVanishesFromTheMixedTree) {
  on(Side::mixed).cases = without(on(Side::mixed).cases, "A.Two");
  EXPECT_EQ(task_.judge().verdict, Verdict::rejected);
}

TEST_F(EscalationTest, LetsAClaimedRemovalFailOnTheMixedTree) {
  task_.evidence.claims.removes = {"A.Two"};
  on(Side::change).cases = without(on(Side::change).cases, "A.Two");
  on(Side::mixed).cases = with_status(on(Side::mixed).cases, "A.Two", CaseStatus::failed);
  on(Side::mixed).outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(task_.judge().verdict, Verdict::accepted);
}

TEST_F(EscalationTest, LetsAFixOfAGuardedTestStillFailOnTheMixedTree) {
  task_.evidence.claims.fixes = {"A.Two"};
  on(Side::base).cases = with_status(on(Side::base).cases, "A.Two", CaseStatus::failed);
  on(Side::mixed).cases = on(Side::base).cases;
  on(Side::mixed).outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(task_.judge().verdict, Verdict::accepted);
}

TEST_F(EscalationTest, WaitsForOwnersWhenOnlyTheMixedTreeDoesNotBuild) {
  task_.on(Side::mixed, "build").outcome = sandbox::Outcome::exited(2);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_TRUE(judgement.waits_for_owners);
  EXPECT_TRUE(judgement.reason.text.starts_with("The base's checks could not be run"));
  EXPECT_EQ(judgement.reason.where, "build");
  EXPECT_FALSE(judgement.reason.evidence.empty());
  EXPECT_TRUE(judgement.next_step.starts_with("Owners must"));
  EXPECT_EQ(judgement.assurance, tasks::Assurance::in_process);
  EXPECT_EQ(gate_of(judgement, "judged").status, GateStatus::passed);
  const GateResult& speed = gate_of(judgement, "speed");
  EXPECT_EQ(speed.status, GateStatus::not_run);
  EXPECT_TRUE(speed.summary.starts_with("not compared"));
}

TEST_F(EscalationTest, StillJudgesTheChangesOwnTreeWhenTheMixedTreeDoesNotBuild) {
  task_.on(Side::mixed, "build").outcome = sandbox::Outcome::exited(2);
  task_.on(Side::change, "judge").outcome = sandbox::Outcome::exited(1);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_FALSE(judgement.waits_for_owners);
}

TEST_F(EscalationTest, RejectsWhatBuildsOnNeitherTree) {
  task_.on(Side::mixed, "build").outcome = sandbox::Outcome::exited(2);
  task_.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::build);
}

TEST_F(EscalationTest, BuildsTheChangeToKnowWhoseFaultAMixedTreeIsBeforeABenchmark) {
  task_.policy.gates = {*task_.policy.find_gate(tasks::GateName("speed"))};
  task_.on(Side::mixed, "build").outcome = sandbox::Outcome::exited(2);
  Judgement judgement = task_.judge();
  EXPECT_EQ(task_.trace, (std::vector<std::string>{"build base", "build mixed", "build change"}));
  EXPECT_TRUE(judgement.waits_for_owners);
  task_.evidence.runs.clear();
  task_.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::build);
  EXPECT_FALSE(judgement.waits_for_owners);
}

TEST_F(EscalationTest, RejectsAWrongAnswerOfTheMixedTree) {
  task_.on(Side::mixed, "judge").cases = with_status(passing({"mean"}), "mean", CaseStatus::failed);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.reason.where, "mean");
}

TEST_F(EscalationTest, SaysThatAnOwnerMustApprove) {
  task_.evidence.intent = tasks::Intent::promote;
  EXPECT_TRUE(task_.judge().next_step.contains("an owner must approve"));
}

}  // namespace
