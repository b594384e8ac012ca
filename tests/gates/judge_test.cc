#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using gates::FailureClass;
using gates::GateStatus;
using gates::Judgement;
using gates::Verdict;
using tasks::Assurance;
using tasks::CaseStatus;
using tasks::Inconclusive;
using tasks::Side;
using tests::gate_of;
using tests::passing;
using tests::ScriptedTask;
using tests::with_status;

// A benchmark too noisy for any verdict.
void make_noisy(ScriptedTask& task) {
  for (const Side side : {Side::base, Side::change}) {
    task.on(side, "bench").rows = [side](int pair) {
      std::mt19937_64 random(static_cast<std::uint64_t>(pair) * 8 +
                             static_cast<std::uint64_t>(side));
      std::normal_distribution<double> noise(0.0, 0.8);
      return tests::bench_rows("BM_A", static_cast<std::int64_t>(1e6 * std::exp(noise(random))));
    };
  }
}

ScriptedTask noisy_task(Inconclusive rule) {
  ScriptedTask task;
  task.policy.gates[2].inconclusive = rule;
  make_noisy(task);
  return task;
}

TEST(Judge, AcceptsWhatPassesEveryGate) {
  ScriptedTask task;
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_EQ(judgement.failure, FailureClass::none);
  EXPECT_EQ(judgement.reason.text, "4 gates passed");
  EXPECT_FALSE(judgement.next_step.empty());
  ASSERT_EQ(judgement.gates.size(), 4U);
  for (const gates::GateResult& gate : judgement.gates) {
    EXPECT_EQ(gate.status, GateStatus::passed) << gate.name.str();
  }
}

TEST(Judge, TakesTheBestLevelOfAQuestionAndTheLeastOverTheQuestions) {
  ScriptedTask task;
  // Correct: sealed by the judge; fast: in-process.
  EXPECT_EQ(task.judge().assurance, Assurance::in_process);
  task.evidence.runs.clear();
  task.policy.gates.erase(task.policy.gates.begin() + 2);
  EXPECT_EQ(task.judge().assurance, Assurance::sealed);
}

TEST(Judge, HasNoAssuranceWhenOnlyTheDiffIsJudged) {
  ScriptedTask task;
  task.policy.gates.erase(task.policy.gates.begin(), task.policy.gates.begin() + 3);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_FALSE(judgement.assurance.has_value());
}

TEST(Judge, RejectsByTheFirstFailedGateAndRunsNoOther) {
  ScriptedTask task;
  task.on(Side::change, "test").cases = with_status(passing({"A.Ok"}), "A.Ok", CaseStatus::failed);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::test);
  EXPECT_FALSE(judgement.assurance.has_value());
  EXPECT_EQ(gate_of(judgement, "judged").status, GateStatus::not_run);
  EXPECT_EQ(gate_of(judgement, "speed").status, GateStatus::not_run);
  EXPECT_EQ(gate_of(judgement, "size").status, GateStatus::passed);
}

TEST(Judge, RejectsByTheDiffGateBeforeAnyStep) {
  ScriptedTask task;
  task.evidence.change.diff.files.push_back({'A', "lib/x.so", "lib/x.so", 0, 0, true});
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::diff);
  EXPECT_EQ(judgement.reason.where, "lib/x.so");
  EXPECT_TRUE(task.evidence.runs.empty());
}

TEST(Judge, ListsAGateThatIsAlwaysJudgedBesideTheDecidingOne) {
  ScriptedTask task;
  task.policy.gates[1].always = true;
  task.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.failure, FailureClass::test);
  EXPECT_EQ(gate_of(judgement, "judged").status, GateStatus::passed);
}

TEST(Judge, LetsAFaultOfTheChangeDecideOverOneOfTheBase) {
  ScriptedTask task;
  task.policy.gates[1].always = true;
  // Fails on both sides; but the judge finds a wrong answer too.
  for (const Side side : {Side::base, Side::change}) {
    task.on(side, "test").cases = with_status(passing({"A.Ok"}), "A.Ok", CaseStatus::failed);
  }
  task.on(Side::change, "judge").outcome = sandbox::Outcome::exited(1);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::test);
  EXPECT_EQ(judgement.reason.where, "judge");
}

TEST(Judge, AsksAboutAnInconclusiveGate) {
  const Judgement judgement = noisy_task(Inconclusive::ask).judge();
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_EQ(judgement.failure, FailureClass::benchmark);
  EXPECT_EQ(judgement.asks, std::vector{tasks::GateName("speed")});
  EXPECT_TRUE(judgement.next_step.contains("speed"));
}

TEST(Judge, BlocksOnAnInconclusiveGate) {
  const Judgement judgement = noisy_task(Inconclusive::block).judge();
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_TRUE(judgement.asks.empty());
}

TEST(Judge, LetsAnInconclusiveGatePassAndSaysSo) {
  const Judgement judgement = noisy_task(Inconclusive::pass).judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_EQ(judgement.reason.text, "3 gates passed; 1 inconclusive, which the policy lets pass");
  EXPECT_EQ(judgement.assurance, Assurance::in_process);
}

TEST(Judge, CannotBeAskedToPassAGateBesideOneThatBlocks) {
  ScriptedTask task = noisy_task(Inconclusive::ask);
  tasks::Gate second = task.policy.gates[2];
  second.name = tasks::GateName("second");
  second.inconclusive = Inconclusive::block;
  task.policy.gates.push_back(second);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::inconclusive);
  EXPECT_TRUE(judgement.asks.empty());
}

TEST(Judge, IsOursWhenTheEvidenceIsIncomplete) {
  ScriptedTask task;
  const Judgement judgement = gates::judge(task.policy, task.evidence);
  EXPECT_EQ(judgement.verdict, Verdict::error);
  EXPECT_EQ(judgement.failure, FailureClass::internal);
  EXPECT_EQ(judgement.reason.text, "the evidence is incomplete: build on base is missing");
}

TEST(Judge, RejectsClaimsThatNoGateCanCheck) {
  ScriptedTask task;
  task.policy.gates.erase(task.policy.gates.begin(), task.policy.gates.begin() + 2);
  task.evidence.claims.fixes = {"A.Ok"};
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::test);
}

class IntentRunTest : public testing::Test {
 protected:
  IntentRunTest() { task_.evidence.intent = tasks::Intent::run; }
  void expect_failure(FailureClass failure, const std::string& where) {
    const Judgement judgement = task_.judge();
    EXPECT_EQ(judgement.verdict, Verdict::ran);
    EXPECT_EQ(judgement.failure, failure);
    EXPECT_EQ(judgement.reason.where, where);
    EXPECT_FALSE(judgement.next_step.empty());
  }
  ScriptedTask task_;
};

TEST_F(IntentRunTest, RanWithSuccess) {
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::ran);
  EXPECT_EQ(judgement.failure, FailureClass::none);
  EXPECT_EQ(judgement.reason.text, "6 steps succeeded");
  EXPECT_TRUE(judgement.gates.empty());
}

TEST_F(IntentRunTest, TellsABrokenBuild) {
  task_.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  expect_failure(FailureClass::build, "build");
}

TEST_F(IntentRunTest, TellsAFailedTestStep) {
  task_.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  expect_failure(FailureClass::test, "test");
}

TEST_F(IntentRunTest, TellsALimit) {
  task_.on(Side::change, "bench").outcome = sandbox::Outcome::killed("output");
  expect_failure(FailureClass::limit, "bench");
}

TEST_F(IntentRunTest, TellsAMissingOutput) {
  task_.on(Side::change, "work").missing_outputs = {"out"};
  expect_failure(FailureClass::report, "work");
}

}  // namespace
