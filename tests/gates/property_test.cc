// Whatever happens to the runs: next comes to an end, asks for no run twice and for nothing whose
// prerequisite failed, and judging is total and gives the same bytes again.

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using gates::Verdict;
using tasks::CaseStatus;
using tasks::Side;
using tests::ScriptedTask;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int roll(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  bool one_in(int count) { return roll(count - 1) == 0; }

 private:
  std::mt19937_64 random_;
};

sandbox::Outcome random_outcome(Dice& dice) {
  if (!dice.one_in(6)) return sandbox::Outcome::exited(0);
  switch (dice.roll(5)) {
    case 0:
      return sandbox::Outcome::signalled(11);
    case 1:
      return sandbox::Outcome::timed_out("wall");
    case 2:
      return sandbox::Outcome::killed("memory");
    case 3:
      return sandbox::Outcome::setup_failed("mount /proc", 1);
    default:
      return sandbox::Outcome::exited(1 + dice.roll(2));
  }
}

std::vector<tasks::TestCase> random_cases(Dice& dice) {
  std::vector<tasks::TestCase> cases = tests::passing({"A.One", "A.Two", "A.Three"});
  for (tasks::TestCase& test : cases) {
    if (dice.one_in(12)) test.status = static_cast<CaseStatus>(dice.roll(5));
  }
  if (dice.one_in(12)) cases.pop_back();
  if (dice.one_in(20)) cases.clear();
  return cases;
}

void script_randomly(ScriptedTask& task, Dice& dice) {
  for (const Side side : {Side::base, Side::change, Side::mixed}) {
    for (const tasks::Step& step : task.policy.steps) {
      tests::Script& script = task.on(side, step.name.str());
      script.outcome = random_outcome(dice);
      script.cases = random_cases(dice);
      script.has_report_record = !dice.one_in(20);
      if (dice.one_in(20)) script.report_error = "bad";
      if (dice.one_in(15) && !step.outputs.empty()) {
        script.missing_outputs = {step.outputs.begin()->first};
      }
      const int noise = dice.roll(2) * 300'000;
      const std::uint64_t seed = static_cast<std::uint64_t>(dice.roll(1'000'000));
      script.rows = [noise, seed](int pair) {
        Dice own(seed + static_cast<std::uint64_t>(pair));
        return tests::bench_rows("BM_A", 1'000'000 + own.roll(noise));
      };
    }
  }
}

ScriptedTask random_task(Dice& dice) {
  ScriptedTask task;
  for (tasks::Gate& gate : task.policy.gates) {
    gate.always = dice.one_in(4);
    gate.inconclusive = static_cast<tasks::Inconclusive>(dice.roll(2));
  }
  std::swap(task.policy.gates[0], task.policy.gates[static_cast<std::size_t>(dice.roll(3))]);
  if (dice.one_in(2)) task.touch_guarded();
  if (dice.one_in(10)) task.evidence.change.diff.files.front().added = 9000;
  if (dice.one_in(5)) task.evidence.claims.fixes = {"A.One"};
  if (dice.one_in(5)) task.evidence.claims.removes = {"A.Two"};
  if (dice.one_in(8)) task.evidence.intent = tasks::Intent::run;
  if (dice.one_in(3)) task.evidence.intent = tasks::Intent::promote;
  script_randomly(task, dice);
  return task;
}

void expect_sound(const ScriptedTask& task, const gates::Judgement& judgement) {
  EXPECT_NE(judgement.failure, gates::FailureClass::internal);
  EXPECT_FALSE(judgement.reason.text.empty());
  EXPECT_FALSE(judgement.next_step.empty());
  const bool is_run = task.evidence.intent == tasks::Intent::run;
  EXPECT_EQ(judgement.gates.size(), is_run ? 0U : task.policy.gates.size());
  if (judgement.verdict != Verdict::accepted) return;
  EXPECT_EQ(judgement.failure, gates::FailureClass::none);
  for (const gates::GateResult& gate : judgement.gates) {
    const bool is_good = gate.status == gates::GateStatus::passed ||
                         gate.status == gates::GateStatus::inconclusive ||
                         (judgement.waits_for_owners && gate.kind == tasks::GateKind::benchmark);
    EXPECT_TRUE(is_good) << gate.name.str();
  }
}

TEST(GatesProperty, EveryTaskComesToTheSameEndAgain) {
  std::vector<int> verdicts(5);
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    ScriptedTask task = random_task(dice);
    const gates::Judgement judgement = task.judge();
    ++verdicts[static_cast<std::size_t>(judgement.verdict)];
    EXPECT_TRUE(
        std::holds_alternative<gates::NextNothing>(gates::next(task.policy, task.evidence)));
    expect_sound(task, judgement);
    const std::string json = gates::judgement_to_json(judgement);
    EXPECT_EQ(gates::judgement_to_json(gates::judge(task.policy, task.evidence)), json);
    const auto read = gates::judgement_from_json(json);
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, judgement);
    if (testing::Test::HasFailure()) break;
  }
  // The dice are such that every end comes about.
  for (const Verdict verdict :
       {Verdict::accepted, Verdict::rejected, Verdict::error, Verdict::ran}) {
    EXPECT_GT(verdicts[static_cast<std::size_t>(verdict)], 0) << gates::verdict_name(verdict);
  }
}

// The kept evidence of an attempt says the same as the one in memory.
TEST(GatesProperty, NothingDependsOnTheOrderInWhichUnrelatedRunsEnded) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Dice dice(seed);
    ScriptedTask task = random_task(dice);
    gates::Judgement judgement = task.judge();
    std::ranges::reverse(task.evidence.runs);
    gates::Judgement again = gates::judge(task.policy, task.evidence);
    // Only how far it can be trusted may: inputs must have been drawn after the builds.
    for (gates::Judgement* const each : {&judgement, &again}) {
      each->assurance.reset();
      for (gates::GateResult& gate : each->gates) gate.assurance = {};
    }
    EXPECT_EQ(again, judgement) << "seed " << seed;
  }
}

}  // namespace
