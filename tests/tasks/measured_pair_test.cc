// Which runs belong to a pair of an outside clock, and which outputs its runs are shown.
#include "tasks/measured_pair.h"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tasks {
namespace {

Step step_of(const char* name, std::vector<Need> needs = {}, bool from_base = false) {
  Step step;
  step.name = StepName(name);
  step.needs = std::move(needs);
  step.from_base = from_base;
  return step;
}

// build, pack.bin -> bench; tools (order) and gen.in -> work -> judge, which has a report.
Policy measured_policy() {
  Policy policy;
  Step work = step_of("work", {{StepName("build"), ""}, {StepName("gen"), "in"}});
  work.calls = CallCounts{.fewer = 10, .more = 30};
  Step judge = step_of(
      "judge", {{StepName("tools"), ""}, {StepName("gen"), "expected"}, {StepName("work"), "out"}},
      true);
  judge.reports = {{ReportFormat::tap, "judge.tap"}};
  policy.steps = {step_of("build"),
                  step_of("pack", {{StepName("build"), ""}}),
                  step_of("bench", {{StepName("pack"), "bin"}}),
                  step_of("tools", {}, true),
                  step_of("gen", {}, true),
                  work,
                  judge};
  return policy;
}

const StepName kMeasured("work");

TEST(MeasuredPair, HasFreshInputsBeforeAndJudgesAfter) {
  const MeasuredSteps steps = measured_steps(measured_policy(), kMeasured);
  EXPECT_EQ(steps.before, std::vector{StepName("gen")});
  EXPECT_EQ(steps.after, std::vector{StepName("judge")});
  EXPECT_EQ(steps.order, std::vector{StepName("tools")});
  EXPECT_FALSE(steps.is_fed_by_change);
}

TEST(MeasuredPair, SeesWhenAnInputIsOfTheChange) {
  Policy policy = measured_policy();
  policy.steps[4].needs = {{StepName("pack"), "bin"}};
  EXPECT_TRUE(measured_steps(policy, kMeasured).is_fed_by_change);
}

TEST(MeasuredPair, TellsEachRunItsCalls) {
  const Policy policy = measured_policy();
  EXPECT_EQ(calls_of(policy, leg_key(kMeasured, Side::base, 0, 0)), 10);
  EXPECT_EQ(calls_of(policy, leg_key(kMeasured, Side::change, 0, 1)), 30);
  EXPECT_EQ(calls_of(policy, {Side::change, Side::change, kMeasured, std::nullopt}), 30);
  EXPECT_EQ(calls_of(policy, judge_key(StepName("gen"), Side::change, 4)), 30);
  EXPECT_EQ(calls_of(policy, {Side::change, Side::change, StepName("bench"), std::nullopt}), 0);
}

TEST(MeasuredPair, ShowsBothSidesTheInputsOfTheirPair) {
  const Policy policy = measured_policy();
  const Need input{StepName("gen"), "in"};
  const RunKey plain{Side::judge, Side::base, StepName("gen"), std::nullopt};
  EXPECT_EQ(sources_of(policy, leg_key(kMeasured, Side::base, 3, 1), input),
            (std::vector{judge_key(StepName("gen"), Side::change, 3),
                         judge_key(StepName("gen"), Side::mixed, 3), plain}));
}

TEST(MeasuredPair, ShowsTheJudgeTheAnswersToTheLargerCount) {
  const std::vector<RunKey> sources = sources_of(
      measured_policy(), judge_key(StepName("judge"), Side::mixed, 2), {kMeasured, "out"});
  EXPECT_EQ(sources.front(), leg_key(kMeasured, Side::mixed, 2, 1));
}

TEST(MeasuredPair, ShowsARelinkedRunWhatWasRelinkedOnItsSide) {
  const RunKey bench{Side::change, Side::change, StepName("bench"), 0, Variant::relinked};
  const std::vector<RunKey> sources =
      sources_of(measured_policy(), bench, {StepName("pack"), "bin"});
  EXPECT_EQ(sources, (std::vector{RunKey{Side::change, Side::change, StepName("pack"), std::nullopt,
                                         Variant::relinked}}));
  RunKey calibration = bench;
  calibration.variant = Variant::calibration;
  EXPECT_EQ(sources_of(measured_policy(), calibration, {StepName("pack"), "bin"}).front().variant,
            Variant::plain);
}

}  // namespace
}  // namespace tasks
