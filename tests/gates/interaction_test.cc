// A judge that speaks with the change's code over two pipes.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using gates::FailureClass;
using gates::GateResult;
using gates::GateStatus;
using tasks::Assurance;
using tasks::Side;
using tests::ScriptedTask;

class InteractionTest : public testing::Test {
 protected:
  InteractionTest() {
    tasks::Step work = tests::make_step("work", {tests::need("build")});
    work.interact = true;
    tasks::Step judge = tests::make_step("judge", {tests::need("work")});
    judge.from_base = true;
    judge.reports = {{tasks::ReportFormat::tap, "judge.tap"}};
    task_.policy.steps = {tests::make_step("build"), work, judge};
    task_.policy.gates = {tests::make_tests_gate("judged", {"judge"})};
    task_.everywhere("judge", judging());
  }
  static tests::Script judging() {
    tests::Script script;
    script.cases = tests::passing({"Sum.Ok"});
    return script;
  }
  const GateResult& result() {
    judgement_ = task_.judge();
    return tests::gate_of(judgement_, "judged");
  }

  ScriptedTask task_;
  gates::Judgement judgement_;
};

TEST_F(InteractionTest, RunsBothTogetherAfterTheBuildAndIsSealed) {
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed) << gate.summary;
  EXPECT_EQ(gate.assurance, Assurance::sealed);
  EXPECT_EQ(task_.trace,
            (std::vector<std::string>{"build change", "work change", "judge judge(change)"}));
}

TEST_F(InteractionTest, IsSealedWhereNothingIsBuilt) {
  task_.policy.steps[1].needs.clear();
  EXPECT_EQ(result().assurance, Assurance::sealed);
}

TEST_F(InteractionTest, FailsAChangeThatCrashesAlthoughTheJudgeIsContent) {
  task_.on(Side::change, "work").outcome = sandbox::Outcome::signalled(6);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_EQ(gate.failure, FailureClass::test);
  ASSERT_FALSE(gate.reasons.empty());
  EXPECT_EQ(gate.reasons.front().where, "work");
}

TEST_F(InteractionTest, FailsAChangeThatDoesNotEnd) {
  task_.on(Side::change, "work").outcome = sandbox::Outcome::timed_out("wall");
  EXPECT_EQ(result().failure, FailureClass::limit);
}

TEST_F(InteractionTest, JudgesTheMixedTreeToo) {
  task_.touch_guarded();
  task_.on(Side::mixed, "work").outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(result().status, GateStatus::failed);
}

TEST_F(InteractionTest, IsRunWithItsJudgeWhereASingleStepIsAskedFor) {
  task_.evidence.intent = tasks::Intent::run;
  task_.evidence.steps = {tasks::StepName("work")};
  task_.run();
  EXPECT_EQ(task_.trace,
            (std::vector<std::string>{"build change", "work change", "judge judge(change)"}));
}

}  // namespace
