#include "gates/backtest.h"

#include <gtest/gtest.h>

#include "tests/support/evidence_builder.h"

namespace {

using gates::Replay;
using gates::Verdict;
using tasks::Side;
using tests::ScriptedTask;

tasks::Gate& gate_named(tasks::Policy& policy, const std::string& name) {
  for (tasks::Gate& gate : policy.gates)
    if (gate.name.str() == name) return gate;
  throw std::out_of_range(name);
}

TEST(Backtest, SaysTheSameByTheSamePolicy) {
  ScriptedTask task;
  const gates::Judgement then = task.judge();
  const Replay replay = gates::replay(task.policy, task.policy, task.evidence);
  EXPECT_EQ(replay.unknown, "");
  EXPECT_EQ(replay.judgement, then);
}

TEST(Backtest, JudgesByTheOtherPolicysGates) {
  ScriptedTask task;
  task.evidence.change.diff.files = {{'M', "src/a.cc", "src/a.cc", 6, 4, false}};
  ASSERT_EQ(task.judge().verdict, Verdict::accepted);
  tasks::Policy stricter = task.policy;
  gate_named(stricter, "size").max_lines = 9;
  const Replay replay = gates::replay(task.policy, stricter, task.evidence);
  EXPECT_EQ(replay.unknown, "");
  EXPECT_EQ(replay.judgement.verdict, Verdict::rejected);
  EXPECT_EQ(replay.judgement.failure, gates::FailureClass::diff);
}

TEST(Backtest, CannotTellWhereAStepWouldRunDifferently) {
  ScriptedTask task;
  task.run();
  tasks::Policy other = task.policy;
  for (tasks::Step& step : other.steps)
    if (step.name.str() == "build") step.run += " -j1";
  EXPECT_EQ(gates::replay(task.policy, other, task.evidence).unknown,
            "step build would run differently");
}

TEST(Backtest, CannotTellOfRunsThatWereNotMade) {
  ScriptedTask task;
  tasks::Policy fewer = task.policy;
  std::erase_if(fewer.gates, [](const tasks::Gate& gate) { return gate.name.str() == "speed"; });
  const tasks::Policy all = task.policy;
  task.policy = fewer;
  task.run();
  const Replay replay = gates::replay(fewer, all, task.evidence);
  EXPECT_EQ(replay.unknown, "step bench would be measured in more than 0 pairs");
}

TEST(Backtest, CannotTellWhereOtherFilesAreGuarded) {
  ScriptedTask task;
  task.evidence.change.diff.files = {{'M', "src/a.cc", "src/a.cc", 1, 1, false}};
  task.policy.subject = {"src/**"};
  task.run();
  tasks::Policy other = task.policy;
  other.subject = {"lib/**"};
  EXPECT_EQ(gates::replay(task.policy, other, task.evidence).unknown,
            "src/a.cc would be guarded, and the base's version of it was not run");
  task.policy.subject = {"lib/**"};
  other.subject = {"src/**"};
  EXPECT_EQ(gates::replay(task.policy, other, task.evidence).unknown,
            "src/a.cc would not be guarded any more");
}

}  // namespace
