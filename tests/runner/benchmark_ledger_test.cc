#include "runner/store/benchmark_ledger.h"

#include <string>

#include <gtest/gtest.h>

#include "runner/scheduler/benchmark_spending.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/store.h"
#include "runner/store/tasks.h"
#include "sandbox/os/files.h"

namespace runner {
namespace {

class LedgerTest : public testing::Test {
 protected:
  LedgerTest() : directory_(std::move(*os::TempDir::create())) {
    auto opened = store::Store::open(directory_ / "p.db");
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    store_ = std::move(*opened);
    write([](store::Database& database) -> os::Result<void> {
      store::ProjectRow project;
      project.project.name = "sample";
      TRY(store::insert_project(database, project, "2026-11-30T12:00:00.000Z"));
      for (const char* const name : {"ada", "bob"})
        TRY(store::insert_principal(database, {.name = name, .owner = ""},
                                    "2026-11-30T12:00:00.000Z"));
      return {};
    });
    tasks::Gate gate;
    gate.name = tasks::GateName("speed");
    gate.kind = tasks::GateKind::benchmark;
    policy_.gates = {gate};
  }

  template <class Work>
  void write(Work work) {
    const auto done = store_->write(work);
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }

  store::TaskRow task(const std::string& id, const std::string& path,
                      const std::string& family = "", const std::string& principal = "ada") {
    store::TaskRow row;
    row.id = id;
    row.project = "sample";
    row.principal = principal;
    row.priority = "normal";
    row.family = family;
    row.change.diff.files = {{'M', path, path, 1, 1, false}};
    row.created_at = "2026-11-30T12:00:00.000Z";
    write([&](store::Database& database) { return store::insert_task(database, row); });
    return row;
  }

  // What the ledger says when the task is staged.
  tasks::Plan stage(const store::TaskRow& row) {
    tasks::Plan plan;
    write([&](store::Database& database) { return plan_spending(database, row, policy_, plan); });
    return plan;
  }
  std::int64_t earlier(const store::TaskRow& row) {
    const tasks::Plan plan = stage(row);
    const auto found = plan.earlier_tests.find("speed");
    return found == plan.earlier_tests.end() ? 0 : found->second;
  }
  void judge(const store::TaskRow& row, gates::GateStatus status, gates::FailureClass failure) {
    gates::Judgement judgement;
    gates::GateResult gate;
    gate.name = tasks::GateName("speed");
    gate.kind = tasks::GateKind::benchmark;
    gate.status = status;
    gate.failure = failure;
    judgement.gates = {gate};
    write([&](store::Database& database) { return record_spending(database, row, judgement); });
  }

  os::TempDir directory_;
  std::unique_ptr<store::Store> store_;
  tasks::Policy policy_;
};

TEST_F(LedgerTest, CountsWhatDidNotPassOnTheSameFilesAgainstTheNext) {
  const store::TaskRow first = task("t_1", "src/a.cc");
  EXPECT_EQ(earlier(first), 0);
  judge(first, gates::GateStatus::failed, gates::FailureClass::benchmark);
  EXPECT_EQ(earlier(task("t_2", "src/b.cc")), 0);
  const store::TaskRow second = task("t_3", "src/a.cc");
  EXPECT_EQ(earlier(second), 1);
  judge(second, gates::GateStatus::inconclusive, gates::FailureClass::benchmark);
  EXPECT_EQ(earlier(task("t_4", "src/a.cc")), 2);
  // A further attempt of the same task is not a retry of itself.
  EXPECT_EQ(earlier(second), 2);  // of t_1 and of t_4, which runs
}

TEST_F(LedgerTest, CountsRetriesThatRunAtTheSameTime) {
  EXPECT_EQ(earlier(task("t_1", "src/a.cc")), 0);
  EXPECT_EQ(earlier(task("t_2", "src/a.cc")), 1);
  EXPECT_EQ(earlier(task("t_3", "src/a.cc")), 2);
}

TEST_F(LedgerTest, ForgetsWhatPassedOrWasNotTested) {
  const store::TaskRow passed = task("t_1", "src/a.cc");
  stage(passed);
  judge(passed, gates::GateStatus::passed, gates::FailureClass::none);
  const store::TaskRow unbuilt = task("t_2", "src/a.cc");
  stage(unbuilt);
  judge(unbuilt, gates::GateStatus::failed, gates::FailureClass::build);
  const store::TaskRow skipped = task("t_3", "src/a.cc");
  stage(skipped);
  judge(skipped, gates::GateStatus::not_run, gates::FailureClass::none);
  EXPECT_EQ(earlier(task("t_4", "src/a.cc")), 0);
}

TEST_F(LedgerTest, CountsTheAuthorsTestsAndTheFamilys) {
  stage(task("t_1", "src/a.cc", "search"));
  EXPECT_EQ(earlier(task("t_2", "src/a.cc", "", "bob")), 0);
  // A new name for the family, or none, is no new chance.
  EXPECT_EQ(earlier(task("t_3", "src/a.cc", "other")), 1);
  EXPECT_EQ(earlier(task("t_4", "src/a.cc")), 2);
  // A family is one search, whoever posts for it: t_1, and bob's own t_2.
  EXPECT_EQ(earlier(task("t_5", "src/a.cc", "search", "bob")), 2);
}

TEST_F(LedgerTest, CalibratesTheFirstAndEveryTwentiethTest) {
  for (int i = 0; i <= kCalibrationEvery; ++i) {
    const bool is_due = stage(task("t_" + std::to_string(i), "src/a.cc")).calibrates;
    EXPECT_EQ(is_due, i % kCalibrationEvery == 0) << i;
  }
}

}  // namespace
}  // namespace runner
