#include "runner/store/store.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runner/clock.h"
#include "runner/store/approvals.h"
#include "runner/store/attempts.h"
#include "runner/store/events.h"
#include "runner/store/evidence_refs.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/schema.h"
#include "runner/store/task_state.h"
#include "runner/store/tasks.h"
#include "sandbox/os/files.h"

namespace runner::store {
namespace {

class StoreTest : public testing::Test {
 protected:
  StoreTest() : directory_(std::move(*os::TempDir::create())), path_(directory_ / "p.db") {
    open();
    ProjectRow project;
    project.project.name = "sample";
    EXPECT_TRUE(store_
                    ->write([&](Database& database) {
                      return insert_project(database, project, now_text());
                    })
                    .has_value());
  }

  void open() {
    store_.reset();
    auto opened = Store::open(path_);
    ASSERT_TRUE(opened.has_value()) << opened.error().message;
    store_ = std::move(*opened);
  }

  static TaskRow task(const std::string& id) {
    TaskRow row;
    row.id = id;
    row.project = "sample";
    row.principal = "author";
    row.priority = "normal";
    row.claims = {.text = "faster\n\"quoted\"",
                  .fixes = {"A.B"},
                  .removes = {},
                  .faster = {{"speed", 50'000}}};
    row.steps = {"build", "test"};
    row.change.diff.digest = "d";
    row.created_at = now_text();
    return row;
  }

  void add_task(const std::string& id) {
    const auto added =
        store_->write([&](Database& database) { return insert_task(database, task(id)); });
    ASSERT_TRUE(added.has_value()) << added.error().message;
  }

  TaskRow get(const std::string& id) {
    auto row = store_->read([&](Database& database) { return get_task(database, id); });
    EXPECT_TRUE(row.has_value());
    return row.value_or(TaskRow{});
  }

  static AttemptRow attempt(const std::string& task) {
    AttemptRow row;
    row.id = "a_1";
    row.fence = 1;
    row.task = task;
    row.cpus = {0, 3};
    row.memory = 100;
    row.deadline_at = row.started_at = now_text();
    return row;
  }

  os::TempDir directory_;
  std::string path_;
  std::unique_ptr<Store> store_;
};

TEST_F(StoreTest, KeepsATaskOverReopening) {
  add_task("t_1");
  open();
  const TaskRow row = get("t_1");
  EXPECT_EQ(row.claims, task("t_1").claims);
  EXPECT_EQ(row.steps, task("t_1").steps);
  EXPECT_EQ(row.state, TaskState::queued);
  EXPECT_EQ(row.sequence, 1);
}

TEST_F(StoreTest, RefusesADatabaseOfANewerProgram) {
  ASSERT_TRUE(store_
                  ->write([](Database& database) {
                    return database.execute("PRAGMA user_version=" +
                                            std::to_string(kSchemaVersion + 1));
                  })
                  .has_value());
  store_.reset();
  const auto opened = Store::open(path_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, os::Code::conflict);
}

TEST_F(StoreTest, RefusesAFileThatIsNoDatabase) {
  const std::string path = directory_ / "text.db";
  ASSERT_TRUE(os::write_file_durably(path, std::string(4096, 'x')).has_value());
  EXPECT_FALSE(Store::open(path).has_value());
}

TEST_F(StoreTest, IsReadableByItsOwnerOnly) {
  EXPECT_EQ(0, std::system(("test $(stat -c %a " + path_ + ") = 600").c_str()));
}

TEST_F(StoreTest, AFailedWriteLeavesTheOthersOfItsCommit) {
  std::vector<std::jthread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const auto done = store_->write([&](Database& database) -> os::Result<void> {
        TRY(put_meta(database, "k" + std::to_string(i), "v"));
        if (i % 2 == 1) return os::fail(os::Code::invalid, "no");
        return {};
      });
      if (!done) ++failed;
    });
  }
  threads.clear();
  EXPECT_EQ(failed, 8);
  for (int i = 0; i < 16; ++i) {
    const auto value = store_->read(
        [&](Database& database) { return find_meta(database, "k" + std::to_string(i)); });
    EXPECT_EQ(value->has_value(), i % 2 == 0) << i;
  }
}

TEST_F(StoreTest, ManyWritersShareAFlush) {
  constexpr int kWrites = 200;
  const std::uint64_t before = store_->version();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 20; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kWrites / 20; ++i)
          EXPECT_TRUE(store_
                          ->write([&](Database& database) {
                            return put_meta(database, std::to_string(t) + "." + std::to_string(i),
                                            "v");
                          })
                          .has_value());
      });
    }
  }
  EXPECT_LT(store_->version() - before, kWrites / 2);
}

TEST_F(StoreTest, AWaitEndsWithTheNextCommit) {
  const std::uint64_t seen = store_->version();
  std::jthread writer([&] {
    EXPECT_TRUE(
        store_->write([](Database& database) { return put_meta(database, "a", "b"); }).has_value());
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  EXPECT_NE(store_->wait_change(seen, deadline), seen);
}

TEST_F(StoreTest, MovesOnlyWhereAMoveIsAllowed) {
  using enum TaskState;
  const std::vector<std::pair<TaskState, TaskState>> allowed{{queued, running},
                                                             {queued, done},
                                                             {running, queued},
                                                             {running, awaiting_approval},
                                                             {running, promoting},
                                                             {running, done},
                                                             {awaiting_approval, promoting},
                                                             {awaiting_approval, queued},
                                                             {awaiting_approval, done},
                                                             {promoting, done},
                                                             {promoting, queued},
                                                             // An owner overrides a gate.
                                                             {done, awaiting_approval}};
  for (const TaskState from : {queued, running, awaiting_approval, promoting, done}) {
    for (const TaskState to : {queued, running, awaiting_approval, promoting, done}) {
      const bool is_allowed = std::ranges::find(allowed, std::pair(from, to)) != allowed.end();
      EXPECT_EQ(can_move(from, to), is_allowed)
          << task_state_name(from) << " -> " << task_state_name(to);
    }
  }
}

TEST_F(StoreTest, AMoveAndItsEventAreOneTransaction) {
  add_task("t_1");
  const auto done = store_->write([](Database& database) -> os::Result<void> {
    TaskRow row = TRY(get_task(database, "t_1"));
    TRY(move_task(database, row, TaskState::running, R"({"a":"b"})"));
    return move_task(database, row, TaskState::running);
  });
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(get("t_1").state, TaskState::queued);
  const auto events =
      store_->read([](Database& database) { return events_after(database, "t_1", 0, 10); });
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->front().type, "task.queued");
}

TEST_F(StoreTest, AStaleRowMovesNothing) {
  add_task("t_1");
  const TaskRow stale = get("t_1");
  const auto move = [&](TaskRow row) {
    return store_->write([&](Database& database) {
      TaskRow copy = row;
      return move_task(database, copy, TaskState::running);
    });
  };
  ASSERT_TRUE(move(stale).has_value());
  const auto again = move(stale);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, os::Code::conflict);
}

TEST_F(StoreTest, TakesExactlyOneResultOfAnAttempt) {
  add_task("t_1");
  ASSERT_TRUE(
      store_->write([](Database& database) { return insert_attempt(database, attempt("t_1")); })
          .has_value());
  const auto take = [&] {
    return store_->write([](Database& database) {
      return take_result(database, attempt("t_1"), std::string(64, 'a'), now_text());
    });
  };
  EXPECT_TRUE(take().has_value());
  const auto second = take();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, os::Code::conflict);
  const auto lost = store_->write(
      [](Database& database) { return mark_lost(database, attempt("t_1"), now_text()); });
  EXPECT_FALSE(lost.has_value());
}

TEST_F(StoreTest, TakesNoResultOfAnAttemptThatWasGivenUp) {
  add_task("t_1");
  ASSERT_TRUE(store_
                  ->write([](Database& database) -> os::Result<void> {
                    TRY(insert_attempt(database, attempt("t_1")));
                    return mark_lost(database, attempt("t_1"), now_text());
                  })
                  .has_value());
  EXPECT_FALSE(store_
                   ->write([](Database& database) {
                     return take_result(database, attempt("t_1"), "x", now_text());
                   })
                   .has_value());
}

TEST_F(StoreTest, KeepsALeaseWithItsAttempt) {
  add_task("t_1");
  ASSERT_TRUE(
      store_->write([](Database& database) { return insert_attempt(database, attempt("t_1")); })
          .has_value());
  const auto active = store_->read(active_attempts);
  ASSERT_EQ(active->size(), 1U);
  EXPECT_EQ(active->front().cpus, (std::vector{0, 3}));
}

TEST_F(StoreTest, AKeyStandsForOneTaskUntilItExpires) {
  add_task("t_1");
  add_task("t_2");
  const auto insert = [&](const std::string& task, const std::string& expires) {
    return store_->write([&](Database& database) {
      return insert_key(
          database,
          {.principal = "a", .key = "k", .body_sha256 = "b", .task = task, .expires_at = expires},
          now_text());
    });
  };
  ASSERT_TRUE(insert("t_1", time_text_after(std::chrono::hours(1))).has_value());
  const auto taken = insert("t_2", time_text_after(std::chrono::hours(1)));
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, os::Code::conflict);
  ASSERT_TRUE(store_
                  ->write([](Database& database) {
                    return delete_keys_before(database, time_text_after(std::chrono::hours(2)));
                  })
                  .has_value());
  ASSERT_TRUE(insert("t_2", time_text_after(-std::chrono::hours(1))).has_value());
  const auto expired =
      store_->read([](Database& database) { return find_key(database, "a", "k", now_text()); });
  EXPECT_FALSE(expired->has_value());
  EXPECT_TRUE(insert("t_1", time_text_after(std::chrono::hours(1))).has_value());
}

TEST_F(StoreTest, EventIdsNeverComeAgain) {
  add_task("t_1");
  const auto first = store_->read(latest_event);
  ASSERT_TRUE(store_
                  ->write([](Database& database) -> os::Result<void> {
                    TaskRow row = TRY(get_task(database, "t_1"));
                    TRY(move_task(database, row, TaskState::done));
                    return delete_events_before(database, time_text_after(std::chrono::hours(1)));
                  })
                  .has_value());
  add_task("t_2");
  const auto events =
      store_->read([](Database& database) { return events_after(database, "", 0, 10); });
  ASSERT_EQ(events->size(), 1U);
  EXPECT_GT(events->front().id, *first + 1);
}

TEST_F(StoreTest, FindsTheRootOfAnOwnerChain) {
  ASSERT_TRUE(store_
                  ->write([](Database& database) -> os::Result<void> {
                    TRY(insert_principal(database, {.name = "person", .owner = ""}, "now"));
                    TRY(insert_principal(database, {.name = "lead", .owner = "person"}, "now"));
                    return insert_principal(database, {.name = "helper", .owner = "lead"}, "now");
                  })
                  .has_value());
  EXPECT_EQ(*store_->read([](Database& database) { return chain_root(database, "helper"); }),
            "person");
}

TEST_F(StoreTest, ALaterDecisionOfTheSamePersonReplacesTheEarlier) {
  add_task("t_1");
  ApprovalRow row;
  row.task = "t_1";
  row.principal = row.chain = "bob";
  row.at = now_text();
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(store_->write([&](Database& database) { return insert_approval(database, row); })
                    .has_value());
  const auto rows = store_->read([](Database& database) { return approvals_of(database, "t_1"); });
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_FALSE(rows->front().void_reason.empty());
  EXPECT_TRUE(rows->back().void_reason.empty());
}

TEST_F(StoreTest, PromotesATaskOnce) {
  add_task("t_1");
  PromotionRow row{.task = "t_1",
                   .project = "sample",
                   .target = "r",
                   .old_commit = "a",
                   .new_commit = "b",
                   .state = PromotionState::moving,
                   .receipt = "",
                   .at = "now"};
  const auto begin = [&] {
    return store_->write([&](Database& database) { return begin_promotion(database, row); });
  };
  ASSERT_TRUE(begin().has_value());
  EXPECT_TRUE(begin().has_value()) << "a promotion under way may be begun again";
  row.state = PromotionState::done;
  ASSERT_TRUE(
      store_->write([&](Database& database) { return end_promotion(database, row); }).has_value());
  EXPECT_FALSE(begin().has_value());
}

TEST_F(StoreTest, ABlobIsAnOrphanOnlyWhenNobodyRefersToIt) {
  std::vector<std::string> orphans;
  ASSERT_TRUE(store_
                  ->write([&](Database& database) -> os::Result<void> {
                    TRY(add_refs(database, "one", {"x", "y"}));
                    TRY(add_refs(database, "two", {"y"}));
                    orphans = TRY(drop_refs(database, "one"));
                    return {};
                  })
                  .has_value());
  EXPECT_EQ(orphans, std::vector<std::string>{"x"});
  EXPECT_TRUE(*store_->read([](Database& database) { return is_referenced(database, "y"); }));
}

}  // namespace
}  // namespace runner::store
