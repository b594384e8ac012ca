#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using tasks::RunKey;
using tasks::Side;
using tasks::StepName;
using tests::need;
using tests::ScriptedTask;
using Trace = std::vector<std::string>;

tasks::Policy policy_with_gates(const std::vector<std::string>& names) {
  tasks::Policy policy = tests::sample_policy();
  std::vector<tasks::Gate> kept;
  for (const std::string& name : names) kept.push_back(*policy.find_gate(tasks::GateName(name)));
  policy.gates = kept;
  return policy;
}

// Place in the trace; past its end if it is not there.
std::size_t at(const Trace& trace, const std::string& run) {
  return static_cast<std::size_t>(std::ranges::find(trace, run) - trace.begin());
}

TEST(Next, RunsTheBaseForItsListAndThenTheChange) {
  ScriptedTask task(policy_with_gates({"tests"}));
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build base", "test base", "build change", "test change"}));
}

TEST(Next, JudgesBothTreesWhenGuardedFilesAreTouched) {
  ScriptedTask task(policy_with_gates({"tests"}));
  task.touch_guarded();
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build base", "test base", "build change", "test change",
                               "build mixed", "test mixed"}));
}

TEST(Next, DrawsTheInputsAfterTheBuilds) {
  ScriptedTask task(policy_with_gates({"judged"}));
  task.run();
  EXPECT_EQ(task.trace,
            (Trace{"build change", "gen judge(change)", "work change", "judge judge(change)"}));
}

TEST(Next, BuildsChangeAndMixedTreeBeforeAnyInputIsDrawn) {
  ScriptedTask task(policy_with_gates({"judged"}));
  task.touch_guarded();
  task.run();
  EXPECT_EQ(task.trace,
            (Trace{"build change", "build mixed", "gen judge(change)", "work change",
                   "judge judge(change)", "gen judge(mixed)", "work mixed", "judge judge(mixed)"}));
}

TEST(Next, FeedsAStepOfTheBaseForItsOwnSide) {
  tasks::Policy policy = policy_with_gates({"judged"});
  policy.steps[4].reports = {{tasks::ReportFormat::tap, "work.tap"}};
  policy.gates.front().steps = {StepName("work")};
  ScriptedTask task(policy);
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build base", "build change", "gen judge(base)", "work base",
                               "gen judge(change)", "work change"}));
}

TEST(Next, RunsAStepOfSeveralGatesOnce) {
  tasks::Policy policy = policy_with_gates({"tests", "judged"});
  policy.gates.push_back(tests::make_tests_gate("again", {"test", "judge"}));
  ScriptedTask task(policy);
  task.run();
  EXPECT_EQ(std::ranges::count(task.trace, "test change"), 1);
  EXPECT_EQ(std::ranges::count(task.trace, "build change"), 1);
  EXPECT_EQ(std::ranges::count(task.trace, "judge judge(change)"), 1);
}

TEST(Next, StopsAtTheFirstFailedGate) {
  ScriptedTask task;
  task.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  task.run();
  EXPECT_EQ(task.trace.back(), "test change");
}

TEST(Next, GoesOnToAGateThatIsAlwaysJudged) {
  tasks::Policy policy = policy_with_gates({"tests", "judged", "speed"});
  policy.gates[1].always = true;
  ScriptedTask task(policy);
  task.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  task.run();
  EXPECT_EQ(task.trace.back(), "judge judge(change)");
}

TEST(Next, RunsNothingWhenADiffGateFailsWhereverItStands) {
  ScriptedTask task;
  task.evidence.change.diff.files.front().added = 5000;
  task.run();
  EXPECT_TRUE(task.trace.empty());
}

TEST(Next, RunsAGateThatIsAlwaysJudgedAfterAFailedDiffGate) {
  tasks::Policy policy = tests::sample_policy();
  policy.gates.front().always = true;
  ScriptedTask task(policy);
  task.evidence.change.diff.files.front().added = 5000;
  task.run();
  EXPECT_EQ(task.trace.back(), "test change");
}

TEST(Next, RunsNothingThatNeedsAFailedPrerequisite) {
  ScriptedTask task(policy_with_gates({"tests"}));
  task.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  task.run();
  EXPECT_EQ(task.trace.back(), "build change");
}

TEST(Next, RunsNothingThatNeedsAMissingOutput) {
  ScriptedTask task(policy_with_gates({"judged"}));
  task.on(Side::change, "work").missing_outputs = {"out"};
  task.run();
  EXPECT_EQ(task.trace.back(), "work change");
}

TEST(Next, StopsWhenTheBaseDoesNotBuild) {
  ScriptedTask task;
  task.policy.gates[1].always = true;
  task.on(Side::base, "build").outcome = sandbox::Outcome::exited(2);
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build base"}));
}

TEST(Next, CountsCarriedRunsOfTheBaseAsDone) {
  ScriptedTask task(policy_with_gates({"tests"}));
  task.add(RunKey{Side::base, Side::base, StepName("test"), std::nullopt});
  task.evidence.runs.back().carried = true;
  task.run();
  EXPECT_EQ(task.trace, (Trace{"test base", "build change", "test change"}));
}

TEST(Next, DoesNotTryTheMixedTreeWhenTheChangesOwnTreeFails) {
  ScriptedTask task(policy_with_gates({"tests"}));
  task.touch_guarded();
  task.on(Side::change, "test").cases =
      tests::with_status(tests::passing({"A.Ok"}), "A.Ok", tasks::CaseStatus::failed);
  task.run();
  EXPECT_EQ(task.trace.back(), "test change");
}

TEST(Next, RunsEveryStepOfAGateSoThatAllItsFailuresAreTold) {
  tasks::Policy policy = policy_with_gates({"tests"});
  tasks::Step second = policy.steps[1];
  second.name = StepName("second");
  policy.steps.push_back(second);
  policy.gates.front().steps.emplace_back("second");
  ScriptedTask task(policy);
  task.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  task.run();
  EXPECT_EQ(task.trace.back(), "second change");
}

TEST(Next, RunsTheNeedsOfABenchmarkOnBothSidesAndThenPairs) {
  ScriptedTask task(policy_with_gates({"speed"}));
  task.run();
  ASSERT_GE(task.trace.size(), 4U);
  EXPECT_EQ(task.trace[0], "build base");
  EXPECT_EQ(task.trace[1], "build change");
  EXPECT_EQ(task.trace[2], "bench pair 0 base");
  EXPECT_EQ(task.trace[3], "bench pair 0 change");
  // Without any noise the first look decides.
  EXPECT_EQ(task.trace.size(), 2U + 2 * 9);
}

TEST(Next, ComparesTheBaseWithTheMixedTreeWhenGuardedFilesAreTouched) {
  ScriptedTask task(policy_with_gates({"speed"}));
  task.touch_guarded();
  task.run();
  EXPECT_EQ(task.trace[1], "build mixed");
  EXPECT_EQ(task.trace[3], "bench pair 0 mixed");
  EXPECT_EQ(at(task.trace, "build change"), task.trace.size());
}

TEST(Next, AsksAgainForAPairOfWhichOneHalfIsMissing) {
  ScriptedTask task(policy_with_gates({"speed"}));
  task.add(RunKey{Side::base, Side::base, StepName("build"), std::nullopt});
  task.add(RunKey{Side::change, Side::change, StepName("build"), std::nullopt});
  task.add(RunKey{Side::base, Side::base, StepName("bench"), 0});
  const gates::Next next = gates::next(task.policy, task.evidence);
  EXPECT_EQ(std::get<gates::NextPair>(next),
            (gates::NextPair{StepName("bench"), Side::change, 0, {}, {}}));
}

TEST(Next, OfIntentRunRunsTheAskedStepsOnTheChangeOnly) {
  ScriptedTask task;
  task.evidence.intent = tasks::Intent::run;
  task.evidence.steps = {StepName("test")};
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build change", "test change"}));
}

TEST(Next, OfIntentRunWithoutStepsRunsAllOnce) {
  ScriptedTask task;
  task.evidence.intent = tasks::Intent::run;
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build change", "test change", "bench change", "gen judge(change)",
                               "work change", "judge judge(change)"}));
}

TEST(Next, OfIntentRunGoesOnWithWhatNeedsNoFailedStep) {
  ScriptedTask task;
  task.evidence.intent = tasks::Intent::run;
  task.on(Side::change, "work").outcome = sandbox::Outcome::exited(1);
  task.on(Side::change, "test").outcome = sandbox::Outcome::exited(1);
  task.run();
  EXPECT_EQ(task.trace, (Trace{"build change", "test change", "bench change", "gen judge(change)",
                               "work change"}));
}

TEST(IsShared, IsAStepThatAnotherOfItsSideNeedsForItsOrder) {
  const tasks::Policy policy = tests::sample_policy();
  EXPECT_TRUE(gates::is_shared(policy, StepName("build")));
  EXPECT_FALSE(gates::is_shared(policy, StepName("test")));
  // Needed for their outputs only.
  EXPECT_FALSE(gates::is_shared(policy, StepName("gen")));
  EXPECT_FALSE(gates::is_shared(policy, StepName("work")));
  EXPECT_FALSE(gates::is_shared(policy, StepName("unknown")));
}

}  // namespace
