// The gates that compare outputs: which runs they ask for, and what they say.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"
#include "tests/support/expect.h"

namespace {

using gates::FailureClass;
using gates::GateStatus;
using gates::Judgement;
using gates::Verdict;
using tasks::GateKind;
using tasks::Side;
using tests::gate_of;
using tests::ScriptedTask;

// The sample's step `work`, fed by the seeded `gen`, with one gate only.
ScriptedTask comparing_task(GateKind kind) {
  ScriptedTask task;
  tasks::Gate gate;
  gate.name = tasks::GateName("compared");
  gate.kind = kind;
  gate.steps = {tasks::StepName("work")};
  if (kind == GateKind::determinism)
    gate.outputs = {"out"};
  else
    gate.parity = {{"out/y.npy", "base", {"1e-3", "", std::nullopt, "", ""}, {}}};
  task.policy.gates = {gate};
  return task;
}

tasks::Comparison far_away() {
  tasks::Comparison comparison;
  comparison.first = tasks::Divergence{"", 96, "w", "[2, 0]", "0", "7", "is too far"};
  comparison.arrays = {{"w", "float32", "[4, 3]", 12, 3, 0, "9", "0.75", "0.5", 99, "3 of 12"}};
  return comparison;
}

TEST(DeterminismGate, RunsTheStepTwiceOnTheSameInputs) {
  ScriptedTask task = comparing_task(GateKind::determinism);
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted) << judgement.reason.text;
  const std::vector<std::string> expected{"build change", "gen judge(change)", "work change",
                                          "work rerun 1 change"};
  EXPECT_EQ(task.trace, expected);
  EXPECT_EQ(gate_of(judgement, "compared").summary, "2 runs left the same 1 output");
}

TEST(DeterminismGate, NamesTheFirstPlaceWhereTwoRunsDiffer) {
  ScriptedTask task = comparing_task(GateKind::determinism);
  task.on(Side::change, "work").digest = [](const tasks::RunKey& key) {
    return key.rerun ? "other" : "one";
  };
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::determinism);
  EXPECT_SAYS(judgement.reason.text, "out/value (byte 0) differs: 7 in one run, 8 in another");
}

TEST(DeterminismGate, BlamesTheBaseForWhatDiffersThereToo) {
  ScriptedTask task = comparing_task(GateKind::determinism);
  int runs = 0;
  for (const Side side : {Side::base, Side::change})
    task.on(side, "work").digest = [&runs](const tasks::RunKey&) { return std::to_string(++runs); };
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::error);
  EXPECT_EQ(judgement.failure, FailureClass::base);
  EXPECT_SAYS(judgement.reason.text, "it differs on the base too");
}

TEST(DeterminismGate, FailsWhenARunLeavesNothing) {
  ScriptedTask task = comparing_task(GateKind::determinism);
  task.on(Side::change, "work").missing_outputs = {"out"};
  EXPECT_EQ(task.judge().verdict, Verdict::rejected);
}

TEST(DeterminismGate, RaisesNoAssurance) {
  ScriptedTask task = comparing_task(GateKind::determinism);
  EXPECT_FALSE(task.judge().assurance.has_value());
}

TEST(ParityGate, ComparesWithAFreshRunOfTheBase) {
  ScriptedTask task = comparing_task(GateKind::parity);
  task.compare = [](const tasks::ComparisonKey& key) {
    EXPECT_EQ(key.left.side, Side::change);
    EXPECT_EQ(key.right.side, Side::base);
    EXPECT_EQ(key.right.rerun, 1);
    tasks::Comparison comparison;
    comparison.is_same = true;
    comparison.arrays.resize(1);
    return comparison;
  };
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::accepted) << judgement.reason.text;
  EXPECT_EQ(gate_of(judgement, "compared").assurance, tasks::Assurance::sealed);
  EXPECT_EQ(gate_of(judgement, "compared").summary, "1 array near the reference");
}

TEST(ParityGate, NamesTheFirstElementAndTheDistance) {
  ScriptedTask task = comparing_task(GateKind::parity);
  task.compare = [](const tasks::ComparisonKey&) { return far_away(); };
  const Judgement judgement = task.judge();
  EXPECT_EQ(judgement.verdict, Verdict::rejected);
  EXPECT_EQ(judgement.failure, FailureClass::parity);
  EXPECT_SAYS(judgement.reason.text, "out/y.npy, tensor w[2, 0] (byte 96) is too far");
  EXPECT_SAYS(gate_of(judgement, "compared").reasons.at(1).text, "relative Frobenius distance 0.5");
}

TEST(ParityGate, TellsTheChangesFaultFromTheReferences) {
  ScriptedTask task = comparing_task(GateKind::parity);
  task.compare = [](const tasks::ComparisonKey&) {
    tasks::Comparison comparison;
    comparison.error = "not a .npy file";
    return comparison;
  };
  EXPECT_EQ(task.judge().failure, FailureClass::parity);
  ScriptedTask other = comparing_task(GateKind::parity);
  other.compare = [](const tasks::ComparisonKey&) {
    tasks::Comparison comparison;
    comparison.reference_error = "every element of the reference is the same";
    return comparison;
  };
  const Judgement judgement = other.judge();
  EXPECT_EQ(judgement.verdict, Verdict::error);
  EXPECT_EQ(judgement.failure, FailureClass::base);
}

TEST(ParityGate, ComparesTheMixedTreeWhereGuardedFilesAreTouched) {
  ScriptedTask task = comparing_task(GateKind::parity);
  task.touch_guarded();
  task.compare = [](const tasks::ComparisonKey& key) {
    EXPECT_EQ(key.left.side, Side::mixed);
    tasks::Comparison comparison;
    comparison.is_same = true;
    return comparison;
  };
  EXPECT_EQ(task.judge().verdict, Verdict::accepted);
}

}  // namespace
