#include <optional>
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
using tasks::Assurance;
using tasks::CaseStatus;
using tasks::Side;
using tests::gate_of;
using tests::passing;
using tests::ScriptedTask;
using tests::with_status;
using tests::without;

const std::vector<std::string> kIds{"Ring.Empty", "Ring.Grows", "Ring.Wraps"};

// A task whose only gate judges the step `test`, with the cases of kIds on both sides.
class TestsGateTest : public testing::Test {
 protected:
  TestsGateTest() {
    task_.policy.gates.resize(1);
    task_.everywhere("test", tests::Script{.outcome = sandbox::Outcome::exited(0),
                                           .cases = passing(kIds),
                                           .rows = {},
                                           .report_error = {},
                                           .missing_outputs = {}});
  }
  tests::Script& base() { return task_.on(Side::base, "test"); }
  tests::Script& change() { return task_.on(Side::change, "test"); }

  // The gate's result; the judgement is kept.
  const GateResult& result() {
    judgement_ = task_.judge();
    return gate_of(judgement_, "tests");
  }
  void expect_failed(FailureClass failure, const std::string& where, const std::string& text) {
    const GateResult& gate = result();
    EXPECT_EQ(gate.status, GateStatus::failed);
    EXPECT_EQ(gate.failure, failure);
    ASSERT_FALSE(gate.reasons.empty());
    EXPECT_EQ(gate.reasons.front().where, where);
    EXPECT_TRUE(gate.reasons.front().text.contains(text)) << gate.reasons.front().text;
    EXPECT_EQ(judgement_.failure, failure);
    EXPECT_FALSE(judgement_.next_step.empty());
  }
  void expect_rejected(FailureClass failure, const std::string& where, const std::string& text) {
    expect_failed(failure, where, text);
    EXPECT_EQ(judgement_.verdict, Verdict::rejected);
  }

  ScriptedTask task_;
  Judgement judgement_;
};

TEST_F(TestsGateTest, PassesWhenEveryTestOfTheBasePasses) {
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_EQ(gate.failure, FailureClass::none);
  EXPECT_EQ(gate.assurance, Assurance::in_process);
  EXPECT_EQ(gate.summary, "3 tests passed");
  EXPECT_TRUE(gate.reasons.empty());
  EXPECT_EQ(judgement_.verdict, Verdict::accepted);
  EXPECT_EQ(judgement_.assurance, Assurance::in_process);
}

TEST_F(TestsGateTest, FailsWithTheMessageAndPlaceOfAFailedTest) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  change().outcome = sandbox::Outcome::exited(1);
  expect_rejected(FailureClass::test, "Ring.Wraps",
                  "Ring.Wraps failed: expected 3, got 4 (tests/ring_test.cc:41)");
  EXPECT_EQ(judgement_.reason.evidence, "r0004");
}

TEST_F(TestsGateTest, FailsOnAFailedTestThoughTheStepExitsWithZero) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  expect_rejected(FailureClass::test, "Ring.Wraps", "failed");
}

TEST_F(TestsGateTest, FailsOnATestThatEndsWithAnError) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::error);
  expect_rejected(FailureClass::test, "Ring.Wraps", "ended with an error: expected 3, got 4");
}

TEST_F(TestsGateTest, FailsOnAnExitCodeThoughEveryTestPassed) {
  change().outcome = sandbox::Outcome::exited(3);
  expect_rejected(FailureClass::test, "test", "exited with 3 although no test failed");
}

TEST_F(TestsGateTest, FailsOnAVanishedTest) {
  change().cases = without(passing(kIds), "Ring.Wraps");
  expect_rejected(FailureClass::test, "Ring.Wraps", "is gone: the base has it");
}

TEST_F(TestsGateTest, FailsOnAVanishedTestThatFailsOnTheBase) {
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  change().cases = without(passing(kIds), "Ring.Wraps");
  expect_rejected(FailureClass::test, "Ring.Wraps", "is gone (it fails on the base)");
}

TEST_F(TestsGateTest, FailsOnANewlySkippedDisabledOrUnrunTest) {
  for (const CaseStatus status : {CaseStatus::skipped, CaseStatus::disabled, CaseStatus::notrun}) {
    task_.evidence.runs.clear();
    change().cases = with_status(passing(kIds), "Ring.Grows", status);
    expect_rejected(FailureClass::test, "Ring.Grows", "did not run");
  }
}

TEST_F(TestsGateTest, LetsATestBeSkippedThatTheBaseSkips) {
  base().cases = with_status(passing(kIds), "Ring.Grows", CaseStatus::skipped);
  change().cases = with_status(passing(kIds), "Ring.Grows", CaseStatus::disabled);
  EXPECT_EQ(result().status, GateStatus::passed);
  EXPECT_EQ(result().summary, "2 tests passed; 1 skipped");
}

TEST_F(TestsGateTest, CountsNewTestsAndWantsThemToPass) {
  change().cases = passing({"Ring.Empty", "Ring.Grows", "Ring.Wraps", "Ring.New", "Ring.Newer"});
  EXPECT_EQ(result().status, GateStatus::passed);
  EXPECT_EQ(result().summary, "5 tests passed, 2 of them new");
  task_.evidence.runs.clear();
  change().cases = with_status(change().cases, "Ring.New", CaseStatus::failed);
  expect_rejected(FailureClass::test, "Ring.New", "failed");
}

TEST_F(TestsGateTest, FailsOnANewTestThatDidNotRun) {
  change().cases = with_status(passing({"Ring.Empty", "Ring.Grows", "Ring.Wraps", "Ring.New"}),
                               "Ring.New", CaseStatus::notrun);
  expect_rejected(FailureClass::test, "Ring.New", "is new and did not run");
}

TEST_F(TestsGateTest, SaysHowManyTestsOfTheBaseAreMended) {
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  base().outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(result().summary, "3 tests passed, 1 of them failing on the base");
}

TEST_F(TestsGateTest, IsTheBasesFaultWhenOnlyTestsFailThatFailThereToo) {
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  change().cases = base().cases;
  change().outcome = sandbox::Outcome::exited(1);
  expect_failed(FailureClass::base, "Ring.Wraps", "also fails on base");
  EXPECT_EQ(judgement_.verdict, Verdict::error);
}

TEST_F(TestsGateTest, IsTheChangesFaultWhenAnotherTestFailsToo) {
  base().cases = with_status(passing(kIds), "Ring.Empty", CaseStatus::failed);
  change().cases = with_status(base().cases, "Ring.Wraps", CaseStatus::failed);
  expect_rejected(FailureClass::test, "Ring.Wraps", "failed");
  EXPECT_TRUE(gate_of(judgement_, "tests").reasons.at(1).text.contains("also fails on base"));
}

TEST_F(TestsGateTest, FailsWhenNoTestRan) {
  base().cases = {};
  change().cases = {};
  expect_rejected(FailureClass::test, "test", "ran no test");
}

TEST_F(TestsGateTest, TakesTheFirstTestsOfAProject) {
  base().cases = {};
  EXPECT_EQ(result().status, GateStatus::passed);
  EXPECT_EQ(result().summary, "3 tests passed, 3 of them new");
}

TEST_F(TestsGateTest, FailsWithoutAReport) {
  change().has_report_record = false;
  expect_rejected(FailureClass::report, "test",
                  "exited with 0 and left no readable report report.json: missing");
}

TEST_F(TestsGateTest, FailsOnAnUnreadableReport) {
  change().report_error = "line 3:\x1b[31m bad\nJSON";
  expect_rejected(FailureClass::report, "test", "report.json: line 3: [31m bad JSON");
}

TEST_F(TestsGateTest, FailsOnALimit) {
  change().outcome = sandbox::Outcome::timed_out("wall");
  expect_rejected(FailureClass::limit, "test", "test timed out (wall)");
  task_.evidence.runs.clear();
  change().outcome = sandbox::Outcome::killed("memory");
  expect_rejected(FailureClass::limit, "test", "test killed (memory)");
}

TEST_F(TestsGateTest, FailsOnACrashThoughEveryTestPassed) {
  change().outcome = sandbox::Outcome::signalled(11);
  expect_rejected(FailureClass::test, "test", "killed by signal 11");
}

TEST_F(TestsGateTest, FailsOnABrokenBuildWithItsRunAsEvidence) {
  task_.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  expect_rejected(FailureClass::build, "build", "build exited with 2");
  EXPECT_EQ(judgement_.reason.evidence, "r0003");
}

TEST_F(TestsGateTest, FailsOnABuildThatReachesALimit) {
  task_.on(Side::change, "build").outcome = sandbox::Outcome::killed("memory");
  expect_rejected(FailureClass::limit, "build", "build killed (memory)");
}

TEST_F(TestsGateTest, IsTheBasesFaultWhenTheBaseDoesNotBuild) {
  task_.on(Side::base, "build").outcome = sandbox::Outcome::exited(2);
  expect_failed(FailureClass::base, "build", "build exited with 2 on the base");
  EXPECT_EQ(judgement_.verdict, Verdict::error);
}

TEST_F(TestsGateTest, IsTheBasesFaultWhenTheBaseLeavesNoReport) {
  base().report_error = "missing";
  expect_failed(FailureClass::base, "test", "left no readable report report.json on the base");
  EXPECT_EQ(judgement_.verdict, Verdict::error);
}

TEST_F(TestsGateTest, IsTheBasesFaultWhenTheBaseReachesALimit) {
  base().outcome = sandbox::Outcome::timed_out("wall");
  expect_failed(FailureClass::base, "test", "test timed out (wall) on the base");
}

TEST_F(TestsGateTest, IsOursWhenACommandNeverRan) {
  change().outcome = sandbox::Outcome::setup_failed("mount /proc", 1);
  expect_failed(FailureClass::infra, "test", "set-up failed at mount /proc");
  EXPECT_EQ(judgement_.verdict, Verdict::error);
}

TEST_F(TestsGateTest, FailsOnAMissingOutputOfTheJudgedStep) {
  task_.policy.steps[1].outputs = {{"bin", "bin/"}};
  change().missing_outputs = {"bin"};
  expect_rejected(FailureClass::report, "test", "left no output `bin`: missing");
}

TEST_F(TestsGateTest, NeverBelievesAReportOfAnotherFormatOrPath) {
  task_.run();
  task_.evidence.runs.back().reports.front().path = "other.json";
  judgement_ = gates::judge(task_.policy, task_.evidence);
  EXPECT_EQ(judgement_.failure, FailureClass::report);
}

// Claims.

TEST_F(TestsGateTest, LetsAClaimedTestBeRemovedOrSkipped) {
  task_.evidence.claims.removes = {"Ring.Wraps", "Ring.Grows"};
  change().cases =
      without(with_status(passing(kIds), "Ring.Grows", CaseStatus::skipped), "Ring.Wraps");
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  ASSERT_EQ(gate.reasons.size(), 2U);
  EXPECT_EQ(gate.reasons[1].text, "Ring.Wraps is gone, as claimed");
}

TEST_F(TestsGateTest, FailsWhenAClaimedRemovalIsStillThere) {
  task_.evidence.claims.removes = {"Ring.Wraps"};
  expect_rejected(FailureClass::test, "Ring.Wraps", "claimed as removed, but is still there");
}

TEST_F(TestsGateTest, FailsWhenTheBaseNeverHadWhatIsClaimedAsRemoved) {
  task_.evidence.claims.removes = {"Ring.Typo"};
  expect_rejected(FailureClass::test, "Ring.Typo", "the base has no such test");
}

TEST_F(TestsGateTest, AcceptsAFixThatFailsOnTheBaseAndPassesOnTheChange) {
  task_.evidence.claims.fixes = {"Ring.Wraps"};
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  base().outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(result().status, GateStatus::passed);
}

TEST_F(TestsGateTest, FailsOnAClaimedFixThatPassesOnTheBase) {
  task_.evidence.claims.fixes = {"Ring.Wraps"};
  expect_rejected(FailureClass::test, "Ring.Wraps", "claimed as fixed, but passes on the base too");
}

TEST_F(TestsGateTest, RejectsAClaimedFixThatStillFails) {
  task_.evidence.claims.fixes = {"Ring.Wraps"};
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  change().cases = base().cases;
  expect_rejected(FailureClass::test, "Ring.Wraps", "claimed as fixed, but failed");
}

TEST_F(TestsGateTest, CountsAFixThatTheBaseLacksAsFailingThereAndSaysSo) {
  task_.evidence.claims.fixes = {"Ring.New"};
  change().cases = passing({"Ring.Empty", "Ring.Grows", "Ring.Wraps", "Ring.New"});
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  ASSERT_EQ(gate.reasons.size(), 1U);
  EXPECT_TRUE(gate.reasons[0].text.contains("is not on the base: it counts as failing there"));
}

TEST_F(TestsGateTest, FailsOnAFixThatNoReportHas) {
  task_.evidence.claims.fixes = {"Ring.Typo"};
  expect_rejected(FailureClass::test, "Ring.Typo", "no report has such a test");
}

TEST_F(TestsGateTest, FailsOnAClaimedFixThatIsSkipped) {
  task_.evidence.claims.fixes = {"Ring.Wraps"};
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::disabled);
  change().cases = base().cases;
  expect_rejected(FailureClass::test, "Ring.Wraps", "claimed as fixed, but did not run");
}

TEST_F(TestsGateTest, FailsOnATestThatPassedOnlyWhenItWasTriedAgain) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::flaky);
  expect_rejected(FailureClass::test, "Ring.Wraps", "passed only when it was tried again");
}

TEST_F(TestsGateTest, LetsATestBeFlakyThatIsFlakyOnTheBase) {
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::flaky);
  change().cases = base().cases;
  EXPECT_EQ(task_.judge().verdict, Verdict::accepted);
}

TEST_F(TestsGateTest, FailsOnATestThatIsExpectedToFailNow) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::xfail);
  expect_rejected(FailureClass::test, "Ring.Wraps", "expected now (xfail), but runs on the base");
}

TEST_F(TestsGateTest, TakesAnExpectedFailureThatPassesForAPass) {
  base().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::xfail);
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::xpass);
  EXPECT_EQ(task_.judge().verdict, Verdict::accepted);
}

TEST_F(TestsGateTest, LeavesAClaimToTheGateThatKnowsTheTest) {
  task_.evidence.claims.fixes = {"Late.Fixed"};
  tasks::Step late = task_.policy.steps[1];
  late.name = tasks::StepName("late");
  task_.policy.steps.push_back(late);
  task_.policy.gates.push_back(tests::make_tests_gate("later", {"late"}));
  task_.on(Side::base, "late").cases =
      with_status(passing({"Late.Fixed"}), "Late.Fixed", CaseStatus::failed);
  task_.on(Side::change, "late").cases = passing({"Late.Fixed"});
  EXPECT_EQ(result().status, GateStatus::passed);
  EXPECT_EQ(judgement_.verdict, Verdict::accepted);
}

TEST_F(TestsGateTest, BoundsItsReasons) {
  std::vector<std::string> ids;
  for (int i = 0; i < 300; ++i) ids.push_back("S.t" + std::to_string(1000 + i));
  base().cases = passing(ids);
  change().cases = passing({"S.t1000"});
  const GateResult& gate = result();
  ASSERT_EQ(gate.reasons.size(), 100U);
  EXPECT_EQ(gate.reasons.back().text, "and 200 more");
}

TEST_F(TestsGateTest, CutsALongMessageAtACharacter) {
  change().cases = with_status(passing(kIds), "Ring.Wraps", CaseStatus::failed);
  std::string message = "x";
  for (int i = 0; i < 1000; ++i) message += "ü";
  change().cases.back().message = message;
  const GateResult& gate = result();
  EXPECT_LT(gate.reasons.front().text.size(), 500U);
  EXPECT_TRUE(gate.reasons.front().text.contains("ü… (tests/ring_test.cc:41)"));
}

// Steps of the base that judge.

class JudgedGateTest : public testing::Test {
 protected:
  JudgedGateTest() { task_.policy.gates = {*task_.policy.find_gate(tasks::GateName("judged"))}; }
  ScriptedTask task_;
};

TEST_F(JudgedGateTest, IsSealedWhenInputsAreDrawnAfterTheBuilds) {
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted);
  EXPECT_EQ(judgement.assurance, Assurance::sealed);
}

TEST_F(JudgedGateTest, IsOnlyOutOfProcessWhenInputsWereDrawnBeforeABuild) {
  task_.run();
  std::swap(task_.evidence.runs[0], task_.evidence.runs[1]);
  EXPECT_EQ(gates::judge(task_.policy, task_.evidence).assurance, Assurance::out_of_process);
}

TEST_F(JudgedGateTest, IsOnlyOutOfProcessWithoutASeed) {
  task_.run();
  for (tasks::RunRecord& run : task_.evidence.runs) run.seed.clear();
  EXPECT_EQ(gates::judge(task_.policy, task_.evidence).assurance, Assurance::out_of_process);
}

TEST_F(JudgedGateTest, IsOutOfProcessWhenTheChangeDrawsNoFreshInput) {
  task_.policy.steps[4].needs = {tests::need("build")};
  task_.policy.steps[5].needs = {tests::need("work", "out")};
  EXPECT_EQ(task_.judge().assurance, Assurance::out_of_process);
}

TEST_F(JudgedGateTest, IsInProcessWhenTheJudgeSeesNothingOfTheChange) {
  task_.policy.steps[5].needs = {tests::need("gen", "expected")};
  EXPECT_EQ(task_.judge().assurance, Assurance::in_process);
}

TEST_F(JudgedGateTest, IsAsTrustworthyAsTheLeastOfItsSteps) {
  task_.policy.gates.front().steps.emplace_back("test");
  EXPECT_EQ(task_.judge().assurance, Assurance::in_process);
}

TEST_F(JudgedGateTest, FailsOnACaseThatDoesNotPass) {
  for (const CaseStatus status : {CaseStatus::failed, CaseStatus::error, CaseStatus::skipped,
                                  CaseStatus::notrun, CaseStatus::disabled}) {
    task_.evidence.runs.clear();
    task_.on(Side::change, "judge").cases =
        with_status(passing({"mod_pow", "median"}), "mod_pow", status);
    const Judgement judgement = task_.judge();
    EXPECT_EQ(judgement.verdict, Verdict::rejected);
    EXPECT_EQ(judgement.failure, FailureClass::test);
    EXPECT_EQ(judgement.reason.where, "mod_pow");
  }
}

TEST_F(JudgedGateTest, FailsWhenTheJudgeExitsWithAnotherCode) {
  task_.on(Side::change, "judge").outcome = sandbox::Outcome::exited(1);
  EXPECT_EQ(task_.judge().verdict, Verdict::rejected);
}

TEST_F(JudgedGateTest, FailsWhenTheJudgeJudgesNothing) {
  task_.on(Side::change, "judge").cases = {};
  EXPECT_EQ(task_.judge().reason.text, "judge ran no test");
}

TEST_F(JudgedGateTest, FailsWhenTheChangeLeavesNoOutput) {
  task_.on(Side::change, "work").missing_outputs = {"out"};
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::report);
  EXPECT_EQ(judgement.reason.text, "work left no output `out`: missing");
}

TEST_F(JudgedGateTest, CallsACrashOverTheInputsATestFailure) {
  task_.on(Side::change, "work").outcome = sandbox::Outcome::signalled(6);
  EXPECT_EQ(task_.judge().failure, FailureClass::test);
}

TEST_F(JudgedGateTest, IsTheBasesFaultWhenItsGeneratorFails) {
  task_.on(Side::change, "gen").outcome = sandbox::Outcome::exited(1);
  const Judgement judgement = task_.judge();
  EXPECT_EQ(judgement.verdict, Verdict::error);
  EXPECT_EQ(judgement.failure, FailureClass::base);
}

}  // namespace
