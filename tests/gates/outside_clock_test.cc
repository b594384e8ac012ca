// The outside clock: figures from the jail's counters, whatever the judged code reports.
#include "gates/outside_clock.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "gates/gate.h"
#include "tests/support/evidence_builder.h"

namespace {

using gates::FailureClass;
using gates::GateResult;
using gates::GateStatus;
using tasks::Assurance;
using tasks::RunKey;
using tasks::Side;
using tests::gate_of;
using tests::ScriptedTask;

constexpr tasks::CallCounts kCalls{.fewer = 100, .more = 300};

// What a process costs: so much to start, so much a call.
tests::Script costing(std::int64_t start_us, std::int64_t call_us) {
  tests::Script script;
  script.cases = tests::passing({"A.Ok"});
  script.usage_of = [=](const RunKey& key) {
    const std::int64_t calls = key.leg == 0 ? kCalls.fewer : kCalls.more;
    // No two runs cost quite the same.
    const std::int64_t noise = (key.pair.value_or(0) * 7 + (key.side == Side::base ? 3 : 0)) % 11;
    return sandbox::Usage{.wall_us = 4 * (start_us + calls * call_us) + noise,
                          .cpu_us = start_us + calls * call_us + noise};
  };
  return script;
}

class OutsideClock : public testing::Test {
 protected:
  OutsideClock() {
    for (tasks::Step& step : task_.policy.steps)
      if (step.name.str() == "work") step.calls = kCalls;
    tasks::Gate speed = tests::make_tests_gate("speed", {"work"});
    speed.kind = tasks::GateKind::benchmark;
    speed.clock = tasks::GateClock::outside_cpu;
    speed.tolerance = tasks::Share{100'000};
    task_.policy.gates = {speed};
    task_.everywhere("work", costing(5000, 50));
  }
  tests::Script& change(const std::string& step) { return task_.on(Side::change, step); }
  const GateResult& result() {
    judgement_ = task_.judge();
    return gate_of(judgement_, "speed");
  }
  bool says(const GateResult& gate, const std::string& text) {
    for (const gates::Reason& reason : gate.reasons)
      if (reason.text.contains(text)) return true;
    return false;
  }

  ScriptedTask task_;
  gates::Judgement judgement_;
};

TEST_F(OutsideClock, TakesTheSlopeBetweenTwoCountsOfCalls) {
  const gates::OutsideFigures figures = gates::outside_figures_of(kCalls, 6000, 16'000);
  EXPECT_EQ(figures.each_call.picoseconds, 50'000'000);
  EXPECT_EQ(figures.each_call.iterations, 200);
  EXPECT_EQ(figures.whole_run.picoseconds, 53'333'333);
}

TEST_F(OutsideClock, GivesNoSlopeBelowAHundredthOfTheWholeRun) {
  const gates::OutsideFigures figures = gates::outside_figures_of(kCalls, 9000, 3000);
  EXPECT_EQ(figures.whole_run.picoseconds, 10'000'000);
  EXPECT_EQ(figures.each_call.picoseconds, 100'000);
  EXPECT_GT(gates::outside_figures_of(kCalls, 0, 0).each_call.picoseconds, 0);
}

TEST_F(OutsideClock, PassesWhatCostsTheSameAndIsSealed) {
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed) << gate.summary;
  EXPECT_EQ(gate.assurance, Assurance::sealed);
  ASSERT_FALSE(gate.reasons.empty());
  EXPECT_TRUE(says(gate, "work, each call is 1.0")) << gate.reasons.front().text;
}

TEST_F(OutsideClock, MakesFreshInputsForEveryPairAndJudgesItsAnswers) {
  task_.run();
  int drawn = 0;
  int judged = 0;
  for (const std::string& step : task_.trace) {
    drawn += step.starts_with("gen pair ") ? 1 : 0;
    judged += step.starts_with("judge pair ") ? 1 : 0;
  }
  EXPECT_EQ(drawn, 9);
  EXPECT_EQ(judged, 9);
  EXPECT_NE(std::ranges::find(task_.trace, "work pair 0 leg 0 base"), task_.trace.end());
  EXPECT_NE(std::ranges::find(task_.trace, "work pair 7 leg 1 change"), task_.trace.end());
}

TEST_F(OutsideClock, FailsWhatCostsMoreByTheSlope) {
  change("work") = costing(5000, 65);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_EQ(gate.failure, FailureClass::benchmark);
  EXPECT_TRUE(gate.reasons.front().text.contains("work, each call is 1.3"))
      << gate.reasons.front().text;
}

TEST_F(OutsideClock, TakesNoNoticeOfTheStart) {
  // A start that takes long on both sides hides nothing of the slope.
  task_.everywhere("work", costing(100'000, 50));
  change("work") = costing(100'000, 65);
  EXPECT_TRUE(says(result(), "work, each call is 1.3"));
}

TEST_F(OutsideClock, FailsWorkThatIsMovedOutOfTheSlope) {
  change("work").usage_of = [](const RunKey& key) {
    // Burns as much where few calls are asked for: the slope alone would look small.
    const std::int64_t calls = key.leg == 0 ? 280 : 300;
    return sandbox::Usage{.cpu_us = 5000 + calls * 100};
  };
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_TRUE(says(gate, "work, whole run is 1."));
}

TEST_F(OutsideClock, FailsWrongAnswersOfMeasuredCallsHoweverFastTheyAre) {
  change("work") = costing(5000, 5);
  change("judge").cases_of = [](const RunKey& key) {
    const auto status = key.pair == 3 ? tasks::CaseStatus::failed : tasks::CaseStatus::passed;
    return tests::with_status(tests::passing({"A.Ok"}), "A.Ok", status);
  };
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_EQ(gate.failure, FailureClass::test);
  EXPECT_TRUE(says(gate, "answers of measured calls are wrong (pair 4): A.Ok"));
}

TEST_F(OutsideClock, FailsAChangeWhoseMeasuredRunsCrash) {
  change("work").outcome = sandbox::Outcome::signalled(11);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_EQ(gate.failure, FailureClass::benchmark);
}

TEST_F(OutsideClock, BlamesTheBaseForItsOwnRuns) {
  task_.on(Side::base, "work").outcome = sandbox::Outcome::exited(3);
  EXPECT_EQ(result().failure, FailureClass::base);
}

TEST_F(OutsideClock, ReadsTheWallWhereThePolicySaysSo) {
  task_.policy.gates.front().clock = tasks::GateClock::outside_wall;
  change("work").usage_of = [](const RunKey& key) {
    const std::int64_t calls = key.leg == 0 ? kCalls.fewer : kCalls.more;
    return sandbox::Usage{.wall_us = 8 * (5000 + calls * 50), .cpu_us = 5000 + calls * 50};
  };
  EXPECT_TRUE(says(result(), "work, each call is 2.0"));
}

TEST_F(OutsideClock, MeasuresTheMixedTreeWhereGuardedFilesAreTouched) {
  task_.touch_guarded();
  task_.on(Side::mixed, "work") = costing(5000, 65);
  EXPECT_EQ(result().status, GateStatus::failed);
}

}  // namespace
