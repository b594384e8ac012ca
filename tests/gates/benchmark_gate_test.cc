#include "gates/benchmark_gate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <variant>
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
using tasks::BenchRow;
using tasks::Side;
using tests::bench_rows;
using tests::gate_of;
using tests::ScriptedTask;

using Rows = std::vector<BenchRow>;

Rows joined(Rows left, const Rows& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// A task whose only gate compares BM_Dot and BM_Sum; tolerance 10%.
class BenchmarkGateTest : public testing::Test {
 protected:
  BenchmarkGateTest() {
    task_.policy.gates = {*task_.policy.find_gate(tasks::GateName("speed"))};
    for (const Side side : {Side::base, Side::change, Side::mixed}) set_times(side, 1.0, 0.01);
  }

  // BM_Dot/1024 takes `ratio` times what it does on the base, with so much noise in each process.
  void set_times(Side side, double ratio, double spread) {
    task_.on(side, "bench").rows = [side, ratio, spread](int pair) {
      std::mt19937_64 random(static_cast<std::uint64_t>(pair) * 8 +
                             static_cast<std::uint64_t>(side));
      std::normal_distribution<double> noise(0.0, spread);
      const auto dot = static_cast<std::int64_t>(1e6 * ratio * std::exp(noise(random)));
      const auto sum = static_cast<std::int64_t>(2e6 * std::exp(noise(random)));
      return joined(bench_rows("BM_Dot/1024", dot), bench_rows("BM_Sum", sum));
    };
  }
  void change_rows(Rows rows) {
    task_.on(Side::change, "bench").rows = [rows](int) { return rows; };
  }
  const GateResult& result() {
    judgement_ = task_.judge();
    return gate_of(judgement_, "speed");
  }
  void expect_failed(FailureClass failure, const std::string& text) {
    const GateResult& gate = result();
    EXPECT_EQ(gate.status, GateStatus::failed);
    EXPECT_EQ(gate.failure, failure);
    ASSERT_FALSE(gate.reasons.empty());
    EXPECT_TRUE(gate.reasons.front().text.contains(text)) << gate.reasons.front().text;
    EXPECT_EQ(judgement_.verdict,
              failure == FailureClass::base ? Verdict::error : Verdict::rejected);
  }
  const Rows same_ = joined(bench_rows("BM_Dot/1024", 1'000'000), bench_rows("BM_Sum", 2'000'000));
  ScriptedTask task_;
  Judgement judgement_;
};

TEST_F(BenchmarkGateTest, PassesWhatIsAsFastAtTheFirstLook) {
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_EQ(gate.summary, "2 benchmarks within 10%");
  EXPECT_EQ(gate.reasons.at(0).figures.at("pairs"), 8);
  EXPECT_EQ(judgement_.verdict, Verdict::accepted);
  EXPECT_EQ(judgement_.assurance, tasks::Assurance::in_process);
}

TEST_F(BenchmarkGateTest, PassesWhatIsFaster) {
  set_times(Side::change, 0.5, 0.05);
  EXPECT_EQ(result().status, GateStatus::passed);
}

TEST_F(BenchmarkGateTest, FailsASlowDownNamingRatioIntervalAndTolerance) {
  set_times(Side::change, 1.31, 0.01);
  expect_failed(FailureClass::benchmark, "BM_Dot/1024 is 1.3");
  const gates::Reason& reason = judgement_.reason;
  EXPECT_TRUE(reason.text.contains("16 pairs), tolerance 10%; 1.3")) << reason.text;
  EXPECT_TRUE(reason.text.ends_with("x in a relinked build too")) << reason.text;
  EXPECT_EQ(reason.where, "BM_Dot/1024");
  EXPECT_NEAR(static_cast<double>(reason.figures.at("ratio_ppm")), 1.31e6, 2e4);
  EXPECT_LT(reason.figures.at("low_ppm"), reason.figures.at("ratio_ppm"));
  EXPECT_GT(reason.figures.at("high_ppm"), reason.figures.at("ratio_ppm"));
  EXPECT_EQ(reason.figures.at("pairs"), 16);
  EXPECT_EQ(judgement_.failure, FailureClass::benchmark);
}

TEST_F(BenchmarkGateTest, FindsNoRegressionBeforeSixteenPairs) {
  set_times(Side::change, 5.0, 0.0);
  EXPECT_EQ(result().reasons.at(0).figures.at("pairs"), 16);
}

TEST_F(BenchmarkGateTest, PassesASlowDownWithinTheTolerance) {
  set_times(Side::change, 1.05, 0.005);
  EXPECT_EQ(result().status, GateStatus::passed);
}

TEST_F(BenchmarkGateTest, IsInconclusiveAfterTheLastLook) {
  set_times(Side::base, 1.0, 0.6);
  set_times(Side::change, 1.08, 0.6);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_EQ(gate.failure, FailureClass::benchmark);
  EXPECT_EQ(gate.reasons.at(0).figures.at("pairs"), 96);
  EXPECT_GT(gate.reasons.at(0).figures.at("spread_ppm"), 300'000);
  EXPECT_TRUE(gate.reasons.at(0).text.contains("undecided: pairs spread by"));
  EXPECT_EQ(task_.trace.back(), "bench pair 96 change");
}

TEST_F(BenchmarkGateTest, TakesTheLeastOfTheRepetitions) {
  Rows rows = same_;
  for (BenchRow& row : rows) {
    if (row.repetition != 1) row.picoseconds *= 3;
    row.iterations /= 10;
  }
  change_rows(rows);
  EXPECT_EQ(result().status, GateStatus::passed);
}

TEST_F(BenchmarkGateTest, FailsWhenABenchmarkIsGone) {
  change_rows(bench_rows("BM_Sum", 2'000'000));
  expect_failed(FailureClass::benchmark, "BM_Dot/1024 is gone");
  // One pair is enough.
  EXPECT_EQ(task_.trace.back(), "bench pair 0 change");
}

TEST_F(BenchmarkGateTest, NotesANewBenchmarkAndDoesNotCompareIt) {
  change_rows(joined(same_, bench_rows("BM_New", 5'000'000)));
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_TRUE(gate.reasons.back().text.starts_with("BM_New is new"));
}

TEST_F(BenchmarkGateTest, FailsOnADuplicate) {
  change_rows(joined(same_, bench_rows("BM_Sum", 2'000'000)));
  expect_failed(FailureClass::benchmark, "BM_Sum stands twice");
}

TEST_F(BenchmarkGateTest, FailsOnAnErrorRow) {
  Rows rows = same_;
  rows[1].error = "NaN";
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "BM_Dot/1024 gave no figure: NaN");
}

TEST_F(BenchmarkGateTest, FailsOnATimeOrIterationsThatAreNotPositive) {
  Rows rows = same_;
  rows[1].picoseconds = 0;
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "a time of 0 ps");
  task_.evidence.runs.clear();
  rows = same_;
  rows[1].iterations = 0;
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "0 iterations");
}

TEST_F(BenchmarkGateTest, FailsOnAnotherClock) {
  Rows rows = same_;
  for (BenchRow& row : rows) row.clock = tasks::BenchClock::manual;
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "is measured by manual time, on the base by CPU time");
  task_.evidence.runs.clear();
  rows[1].clock = tasks::BenchClock::cpu;
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "is measured by two clocks");
}

TEST_F(BenchmarkGateTest, FailsOnAnotherNumberOfRepetitions) {
  change_rows(joined(bench_rows("BM_Dot/1024", 1'000'000, 9), bench_rows("BM_Sum", 2'000'000)));
  expect_failed(FailureClass::benchmark, "has 9 repetitions, on the base 3");
}

TEST_F(BenchmarkGateTest, FailsWhenMoreCpuTimeIsReportedThanTheProcessUsed) {
  // 60 ms are reported.
  task_.on(Side::change, "bench").usage = {.wall_ms = 900, .user_ms = 30, .sys_ms = 5};
  expect_failed(FailureClass::benchmark, "but the process used 35 ms");
}

TEST_F(BenchmarkGateTest, LeavesRealTimeOutOfTheCpuTimeCheck) {
  for (const Side side : {Side::base, Side::change}) {
    Rows rows = same_;
    for (BenchRow& row : rows) row.clock = tasks::BenchClock::real;
    task_.on(side, "bench").rows = [rows](int) { return rows; };
    task_.on(side, "bench").usage = {.wall_ms = 900, .user_ms = 5, .sys_ms = 0};
  }
  EXPECT_EQ(result().status, GateStatus::passed);
}

TEST_F(BenchmarkGateTest, SaysThatAnOddShareOfCpuTimeIsAccountedFor) {
  // The same rows out of twice the process: half of its time is not in the report.
  task_.on(Side::base, "bench").usage = {.wall_ms = 100, .user_ms = 80, .sys_ms = 5};
  task_.on(Side::change, "bench").usage = {.wall_ms = 200, .user_ms = 160, .sys_ms = 10};
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_TRUE(gate.reasons.back().text.starts_with("odd: the rows account for 0.50x"))
      << gate.reasons.back().text;
}

TEST_F(BenchmarkGateTest, FailsOnAnExitCode) {
  task_.on(Side::change, "bench").outcome = sandbox::Outcome::exited(1);
  expect_failed(FailureClass::benchmark, "bench exited with 1");
}

TEST_F(BenchmarkGateTest, FailsOnALimit) {
  task_.on(Side::change, "bench").outcome = sandbox::Outcome::timed_out("cpu");
  expect_failed(FailureClass::limit, "bench timed out (cpu)");
}

TEST_F(BenchmarkGateTest, FailsWithoutAReportOrWithAnEmptyOne) {
  task_.on(Side::change, "bench").has_report_record = false;
  expect_failed(FailureClass::report, "left no readable report bench.json: missing");
  task_.evidence.runs.clear();
  task_.on(Side::change, "bench").has_report_record = true;
  change_rows({});
  expect_failed(FailureClass::report, "bench reports no benchmark");
}

TEST_F(BenchmarkGateTest, FailsOnABrokenBuild) {
  task_.on(Side::change, "build").outcome = sandbox::Outcome::exited(2);
  expect_failed(FailureClass::build, "build exited with 2");
}

TEST_F(BenchmarkGateTest, IsTheBasesFaultWhenTheBaseCannotBeMeasured) {
  task_.on(Side::base, "bench").outcome = sandbox::Outcome::exited(1);
  // Whatever the change does in the same pair.
  task_.on(Side::change, "bench").outcome = sandbox::Outcome::exited(1);
  expect_failed(FailureClass::base, "on the base: bench exited with 1");
}

TEST_F(BenchmarkGateTest, IsTheBasesFaultWhenItsBenchmarksChangeFromRunToRun) {
  task_.on(Side::base, "bench").rows = [this](int pair) {
    return pair < 3 ? same_ : bench_rows("BM_Sum", 2'000'000);
  };
  change_rows(same_);
  expect_failed(FailureClass::base, "the benchmarks differ from run to run");
}

TEST_F(BenchmarkGateTest, DoesNotLookAtPairsAfterItsDecision) {
  result();
  const std::string before = gates::judgement_to_json(judgement_);
  set_times(Side::change, 9.0, 0.0);
  task_.add({Side::base, Side::base, tasks::StepName("bench"), 9});
  task_.add({Side::change, Side::change, tasks::StepName("bench"), 9});
  EXPECT_EQ(gates::judgement_to_json(gates::judge(task_.policy, task_.evidence)), before);
}

TEST_F(BenchmarkGateTest, DecidesEachBenchmarkAtItsOwnLook) {
  // BM_Sum is decided at once; BM_Dot/1024 needs more pairs, and regresses.
  set_times(Side::change, 1.25, 0.01);
  const GateResult& gate = result();
  ASSERT_EQ(gate.reasons.size(), 2U);
  EXPECT_EQ(gate.reasons[0].where, "BM_Dot/1024");
  EXPECT_EQ(gate.reasons[0].figures.at("pairs"), 16);
  EXPECT_EQ(gate.reasons[1].figures.at("pairs"), 8);
}

TEST_F(BenchmarkGateTest, ChecksTheWarmUpAndDoesNotCountIt) {
  task_.on(Side::change, "bench").rows = [this](int pair) {
    Rows rows = same_;
    if (pair == 0) {
      for (BenchRow& row : rows) row.picoseconds *= 50;
      for (BenchRow& row : rows) row.iterations = std::max<std::int64_t>(2, row.iterations / 50);
    }
    return rows;
  };
  task_.on(Side::base, "bench").rows = [this](int) { return same_; };
  EXPECT_EQ(result().reasons.at(0).figures.at("ratio_ppm"), 1'000'000);
  EXPECT_EQ(task_.trace.back(), "bench pair 8 change");
}

// The change is slower in the plain build and not in the relinked one.
TEST_F(BenchmarkGateTest, WithdrawsASlowDownThatARelinkedBuildDoesNotShow) {
  set_times(Side::base, 1.0, 0.005);
  int calls = 0;
  const auto plain = [&](double ratio) { set_times(Side::change, ratio, 0.005); };
  plain(1.3);
  // Runs until the gate asks for a relinked pair, which the script then answers differently.
  for (;; ++calls) {
    ASSERT_LT(calls, 200);
    const gates::Next next = gates::next(task_.policy, task_.evidence);
    const auto* const pair = std::get_if<gates::NextPair>(&next);
    if (pair != nullptr && pair->variant == tasks::Variant::relinked) {
      EXPECT_EQ(pair->only, std::vector<std::string>{"BM_Dot/1024"});
      break;
    }
    if (pair != nullptr) {
      task_.add({Side::base, Side::base, pair->step, pair->pair});
      task_.add({Side::change, Side::change, pair->step, pair->pair});
    } else {
      ASSERT_TRUE(std::holds_alternative<gates::NextRun>(next));
      task_.add(std::get<gates::NextRun>(next).key);
    }
  }
  // Both trees were built once more.
  for (const Side side : {Side::base, Side::change}) {
    EXPECT_NE(task_.evidence.find(
                  {side, side, tasks::StepName("build"), std::nullopt, tasks::Variant::relinked}),
              nullptr);
  }
  plain(1.0);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_TRUE(gate.reasons.front().text.contains("the layout of the code, not its work"))
      << gate.reasons.front().text;
  EXPECT_EQ(judgement_.verdict, Verdict::inconclusive);
}

TEST_F(BenchmarkGateTest, SaysThatNothingCouldBeConfirmedWhereTheRelinkedBuildFails) {
  set_times(Side::change, 1.31, 0.01);
  while (true) {
    const gates::Next next = gates::next(task_.policy, task_.evidence);
    if (const auto* const run = std::get_if<gates::NextRun>(&next)) {
      const bool is_relinked = run->key.variant == tasks::Variant::relinked;
      task_.on(Side::base, "build").outcome = sandbox::Outcome::exited(is_relinked ? 2 : 0);
      task_.add(run->key);
    } else if (const auto* const pair = std::get_if<gates::NextPair>(&next)) {
      task_.add({Side::base, Side::base, pair->step, pair->pair, pair->variant});
      task_.add({Side::change, Side::change, pair->step, pair->pair, pair->variant});
    } else {
      break;
    }
  }
  const Judgement judgement = gates::judge(task_.policy, task_.evidence);
  const GateResult& gate = gate_of(judgement, "speed");
  EXPECT_EQ(gate.status, GateStatus::failed);
  EXPECT_TRUE(gate.reasons.front().text.ends_with(
      "not confirmed by a relinked build: build exited with 2 on the base"))
      << gate.reasons.front().text;
}

TEST_F(BenchmarkGateTest, MeasuresOnlyWhatIsUndecidedFurther) {
  // BM_Sum is as fast, and passes at once where its noise is small; BM_Dot is between the margins.
  set_times(Side::base, 1.0, 0.02);
  set_times(Side::change, 1.075, 0.02);
  std::set<std::vector<std::string>> asked;
  for (int i = 0; i < 300; ++i) {
    const gates::Next next = gates::next(task_.policy, task_.evidence);
    if (const auto* const run = std::get_if<gates::NextRun>(&next)) {
      task_.add(run->key);
      continue;
    }
    const auto* const pair = std::get_if<gates::NextPair>(&next);
    if (pair == nullptr) break;
    asked.insert(pair->only);
    task_.add({Side::base, Side::base, pair->step, pair->pair, pair->variant});
    task_.add({pair->other, pair->other, pair->step, pair->pair, pair->variant});
  }
  EXPECT_EQ(asked, (std::set<std::vector<std::string>>{{}, {"BM_Dot/1024"}}));
}

TEST_F(BenchmarkGateTest, BelievesAnImprovementThatHolds) {
  task_.evidence.claims.faster = {{"speed/BM_Dot/1024", 100'000}};
  set_times(Side::change, 0.8, 0.01);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_EQ(gate.summary, "2 benchmarks within 10%; 1 claim held");
  EXPECT_TRUE(gate.reasons.front().text.starts_with(
      "the claim that BM_Dot/1024 is 10% faster holds: it is 0.8"))
      << gate.reasons.front().text;
}

TEST_F(BenchmarkGateTest, RefutesAnImprovementThatDoesNotHold) {
  task_.evidence.claims.faster = {{"speed", 100'000}};
  expect_failed(FailureClass::benchmark, "the claim that speed is 10% faster is refuted");
}

TEST_F(BenchmarkGateTest, IsInconclusiveAboutAClaimThatIsOnlyJustSo) {
  task_.evidence.claims.faster = {{"speed/BM_Dot/1024", 100'000}};
  set_times(Side::change, 1 / 1.1, 0.02);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_TRUE(gate.reasons.front().text.contains("is undecided")) << gate.reasons.front().text;
}

TEST_F(BenchmarkGateTest, FailsAClaimThatNamesNothing) {
  task_.evidence.claims.faster = {{"speed/BM_None", 100'000}};
  expect_failed(FailureClass::benchmark, "the claim names BM_None, which the base does not have");
  task_.evidence.runs.clear();
  task_.evidence.claims.faster = {{"other", 100'000}};
  result();
  EXPECT_EQ(judgement_.verdict, Verdict::rejected);
  EXPECT_TRUE(judgement_.reason.text.contains("no benchmark gate has that name"));
}

TEST_F(BenchmarkGateTest, ARetryNeedsMorePairsAndSaysSo) {
  task_.evidence.earlier_tests = {{"speed", 1000}};
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_EQ(gate.reasons.at(0).figures.at("pairs"), 32);
  EXPECT_TRUE(gate.reasons.back().text.starts_with("a retry: 1000 earlier tests"))
      << gate.reasons.back().text;
}

TEST_F(BenchmarkGateTest, CalibratesOnTheBaseAloneWhereTheEvidenceSaysSo) {
  task_.evidence.calibrates = true;
  task_.on(Side::base, "bench").rows = [this](int pair) {
    Rows rows = same_;
    for (BenchRow& row : rows) row.picoseconds += pair * 1000;
    return rows;
  };
  change_rows(same_);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_TRUE(gate.reasons.back().text.starts_with("calibration: BM_"));
  EXPECT_EQ(std::ranges::count_if(task_.evidence.runs,
                                  [](const tasks::RunRecord& run) {
                                    return run.key.variant == tasks::Variant::calibration;
                                  }),
            16);
}

TEST_F(BenchmarkGateTest, IsNotArmedWhereNotEvenTwiceTheToleranceWouldBeFound) {
  task_.evidence.calibrates = true;
  set_times(Side::base, 1.0, 1.0);
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_TRUE(gate.summary.starts_with("not armed: calibration: BM_")) << gate.summary;
  EXPECT_EQ(std::ranges::count_if(task_.evidence.runs,
                                  [](const tasks::RunRecord& run) {
                                    return run.key.pair && run.key.variant == tasks::Variant::plain;
                                  }),
            0);
}

TEST_F(BenchmarkGateTest, EndsInconclusiveWhenItsBudgetIsSpent) {
  set_times(Side::base, 1.0, 0.6);
  set_times(Side::change, 1.08, 0.6);
  task_.policy.gates.front().budget = std::chrono::milliseconds(40'000);  // 20 pairs of 2 s
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::inconclusive);
  EXPECT_EQ(gate.reasons.at(0).figures.at("pairs"), 16);
  EXPECT_EQ(task_.trace.back(), "bench pair 19 change");
}

TEST_F(BenchmarkGateTest, FailsOnASingleIterationThatNoClockCanTell) {
  Rows rows = same_;
  rows[0].iterations = 1;
  rows[0].picoseconds = 900;
  change_rows(rows);
  expect_failed(FailureClass::benchmark, "from a single iteration");
}

TEST_F(BenchmarkGateTest, FailsWhenMoreRealTimeIsReportedThanTheProcessLasted) {
  for (const Side side : {Side::base, Side::change}) {
    Rows rows = same_;
    for (BenchRow& row : rows) row.clock = tasks::BenchClock::real;
    task_.on(side, "bench").rows = [rows](int) { return rows; };
  }
  task_.on(Side::change, "bench").usage = {.wall_ms = 30, .user_ms = 5, .sys_ms = 0};
  expect_failed(FailureClass::benchmark, "but the process lasted 30 ms");
}

TEST_F(BenchmarkGateTest, SaysThatThereAreMoreThreads) {
  task_.on(Side::base, "bench").usage.pids_peak = 1;
  task_.on(Side::change, "bench").usage.pids_peak = 5;
  const GateResult& gate = result();
  EXPECT_EQ(gate.status, GateStatus::passed);
  EXPECT_EQ(gate.reasons.back().text,
            "odd: the process always had 5 threads at a time, on the base at most 1");
}

TEST_F(BenchmarkGateTest, ShowsItsSeries) {
  result();
  const auto series = gates::benchmark_series(gates::Context{task_.policy, task_.evidence},
                                              task_.policy.gates.front());
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0].name, "BM_Dot/1024");
  EXPECT_EQ(series[0].differences.size(), 8U);
  EXPECT_EQ(series[0].result.trend, gates::Trend::passed);
  EXPECT_EQ(series[2].name, "the geometric mean");
}

TEST(Margins, AreTheToleranceAndASixthOfIt) {
  const gates::Margins margins = gates::margins_of(tasks::Share{60'000});
  EXPECT_NEAR(margins.upper, std::log(1.06), 1e-15);
  EXPECT_NEAR(margins.lower, std::log(1.01), 1e-15);
  EXPECT_NEAR(margins.geometric, std::log(1.02), 1e-15);
}

}  // namespace
