#include "runner/scheduler/scheduler.h"

#include <gtest/gtest.h>

#include "runner/scheduler/attempt_stage.h"
#include "runner/scheduler/conclusion.h"
#include "runner/scheduler/plan.h"
#include "runner/store/attempts.h"
#include "runner/store/events.h"
#include "runner/store/evidence_refs.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using tests::FakeMachine;
using tests::House;

Waiting waiting(const std::string& task, int cpus, std::int64_t sequence,
                const std::string& priority = "normal") {
  return {.task = task,
          .priority = priority,
          .sequence = sequence,
          .cpus = cpus,
          .memory = 1,
          .overtaken = 0};
}

std::vector<std::string> names(const SchedulePlan& plan) {
  std::vector<std::string> tasks;
  for (const Placement& start : plan.starts) tasks.push_back(start.task);
  return tasks;
}

using Names = std::vector<std::string>;

TEST(SchedulePlan, StartsByPriorityThenByAdmission) {
  const SchedulePlan plan = plan_starts({waiting("c", 1, 1, "background"), waiting("b", 1, 3),
                                         waiting("a", 1, 2), waiting("i", 1, 4, "interactive")},
                                        {.cpus = {0, 1, 2, 3}, .memory = 10});
  EXPECT_EQ(names(plan), (Names{"i", "a", "b", "c"}));
  EXPECT_TRUE(plan.overtaken.empty());
}

TEST(SchedulePlan, GivesEachCpuOnce) {
  const SchedulePlan plan =
      plan_starts({waiting("a", 2, 1), waiting("b", 1, 2)}, {.cpus = {4, 5, 7}, .memory = 10});
  ASSERT_EQ(plan.starts.size(), 2U);
  EXPECT_EQ(plan.starts[0].cpus, (std::vector{4, 5}));
  EXPECT_EQ(plan.starts[1].cpus, (std::vector{7}));
}

TEST(SchedulePlan, ASmallTaskPassesALargeOneAndSaysSo) {
  const SchedulePlan plan =
      plan_starts({waiting("large", 2, 1), waiting("small", 1, 2)}, {.cpus = {0}, .memory = 10});
  EXPECT_EQ(names(plan), Names{"small"});
  EXPECT_EQ(plan.overtaken, Names{"large"});
}

TEST(SchedulePlan, ALargeTaskIsPassedOnlySoOften) {
  Waiting large = waiting("large", 2, 1);
  large.overtaken = kMaxOvertaken;
  const SchedulePlan plan =
      plan_starts({large, waiting("small", 1, 2)}, {.cpus = {0}, .memory = 10});
  EXPECT_TRUE(plan.starts.empty());
}

TEST(SchedulePlan, MemoryIsLeasedToo) {
  Waiting first = waiting("a", 1, 1);
  first.memory = 8;
  Waiting second = waiting("b", 1, 2);
  second.memory = 3;
  EXPECT_EQ(names(plan_starts({first, second}, {.cpus = {0, 1}, .memory = 10})), Names{"a"});
}

TEST(Conclusion, AFaultOfOursIsTriedAgainTwice) {
  store::TaskRow task;
  EXPECT_EQ(conclude_fault(task, "x", Retry::allowed), TaskState::queued);
  EXPECT_EQ(conclude_fault(task, "x", Retry::allowed), TaskState::queued);
  EXPECT_EQ(task.attempt_why, "infra");
  EXPECT_EQ(conclude_fault(task, "x", Retry::allowed), TaskState::done);
  EXPECT_EQ(task.verdict, "error");
  EXPECT_EQ(task.failure_class, "infra");
}

TEST(Conclusion, AFaultThatStaysIsNotTriedAgain) {
  store::TaskRow task;
  EXPECT_EQ(conclude_fault(task, "x", Retry::useless), TaskState::done);
}

TEST(Conclusion, ADeadlineIsTheChangesFailure) {
  store::TaskRow task;
  EXPECT_EQ(conclude_stopped(task, "deadline"), TaskState::done);
  EXPECT_EQ(task.verdict, "rejected");
  EXPECT_EQ(task.failure_class, "limit");
}

TEST(BaseEvidence, HoldsThePlainRunsOfTheBaseOnly) {
  tests::ScriptedTask task;
  task.run();
  const auto base = base_evidence_of(task.evidence);
  ASSERT_TRUE(base.has_value());
  EXPECT_FALSE(base->runs.empty());
  for (const tasks::RunRecord& run : base->runs) {
    EXPECT_EQ(run.key.side, tasks::Side::base);
    EXPECT_FALSE(run.key.pair.has_value());
  }
}

TEST(BaseEvidence, IsNotKeptOfABaseThatWasStopped) {
  tests::ScriptedTask task;
  task.on(tasks::Side::base, "test").outcome = sandbox::Outcome::timed_out("wall");
  task.run();
  EXPECT_FALSE(base_evidence_of(task.evidence).has_value());
}

TEST(BaseKey, DiffersWithEachOfItsParts) {
  const std::string key = base_key("a", "b", "c", "d");
  EXPECT_NE(key, base_key("x", "b", "c", "d"));
  EXPECT_NE(key, base_key("a", "x", "c", "d"));
  EXPECT_NE(key, base_key("a", "b", "x", "d"));
  EXPECT_NE(key, base_key("a", "b", "c", "x"));
}

TEST(Scheduler, ALostAttemptIsFollowedByAnother) {
  House house;
  house.machine.ending = [](int n) {
    return n == 1 ? FakeMachine::Ending::ends_without_result : FakeMachine::Ending::completes;
  };
  const TaskView task = house.submit(house.submission());
  const TaskView done = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_EQ(done.verdict, "accepted");
  ASSERT_EQ(done.attempts.size(), 2U);
  EXPECT_EQ(done.attempts[0].id, done.attempts[1].id);
  EXPECT_EQ(done.attempts[1].fence, 2);
  EXPECT_EQ(done.attempts[1].why, "infra");
}

TEST(Scheduler, ThreeFaultsAreAnError) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::has_fault; };
  const TaskView task = house.submit(house.submission());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "error");
  EXPECT_EQ(done.failure_class, "infra");
  EXPECT_EQ(done.attempts.size(), 3U);
  EXPECT_TRUE(done.reason.text.contains("no luck")) << done.reason.text;
}

TEST(Scheduler, ARestartedServeAdoptsWhatRuns) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::running);
  while (house.machine.verified() == 0) std::this_thread::yield();
  house.restart();
  house.machine.finish_running();
  const TaskView done = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_EQ(done.verdict, "accepted");
  EXPECT_EQ(done.attempts.size(), 1U);
  EXPECT_EQ(house.machine.verified(), 1);
}

TEST(Scheduler, AResultThatWasLeftMeanwhileIsTaken) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  const TaskView task = house.submit(house.submission());
  while (house.machine.verified() == 0) std::this_thread::yield();
  house.core.reset();
  house.machine.finish_running();
  house.machine.forget_all();
  house.restart();
  const TaskView done = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_EQ(done.verdict, "accepted");
  EXPECT_EQ(house.machine.verified(), 1);
}

TEST(Scheduler, CancelStopsARunningAttempt) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  const TaskView task = house.submit(house.submission());
  while (house.machine.verified() == 0) std::this_thread::yield();
  ASSERT_TRUE(house.core->cancel(house.actor("author"), task.id).has_value());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "cancelled");
  const auto machine = house.core->machine(house.actor("alice"));
  EXPECT_EQ(machine->running, 0);
}

TEST(Scheduler, WaitsForAnExecutorThatDoesNotAnswer) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  const TaskView task = house.submit(house.submission());
  while (house.machine.verified() == 0) std::this_thread::yield();
  house.machine.set_down(true);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(house.core->task(house.actor("author"), task.id)->state, TaskState::running);
  house.machine.set_down(false);
  house.machine.finish_running();
  EXPECT_EQ(house.wait_for(task.id, TaskState::awaiting_approval).verdict, "accepted");
}

TEST(Scheduler, LeavesNoDirectoryOfAnAttemptThatWasTaken) {
  House house;
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::awaiting_approval);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!os::list_directory(house.data + "/attempts")->empty() &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(os::list_directory(house.data + "/attempts")->empty());
}

TEST(Scheduler, CopiesOfAnAttemptsEventsOnlyWhatFitsIntoAStream) {
  House house;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::running);
  while (house.machine.verified() == 0) std::this_thread::yield();
  const AttemptView attempt = house.core->task(house.actor("author"), task.id)->attempts[0];
  const std::string file = attempt_path(house.config, attempt.id, attempt.fence) + "/events.jsonl";
  ASSERT_TRUE(os::write_file_durably(
                  file,
                  R"({"type":"run.x\n\nevent: task.done","time":"2026-01-02T03:04:05.678Z"})"
                  "\n"
                  R"({"type":"task.done","time":"2026-01-02T03:04:05.678Z"})"
                  "\n"
                  R"({"type":"run.started","time":"2026-01-02T03:04:05.678Z","data":{"a":"b\nc"}})"
                  "\n"
                  R"({"type":"run.finished","time":"\n\nevent: task.done"})"
                  "\n",
                  0644)
                  .has_value());
  std::vector<EventView> copied;
  for (std::int64_t after = 0; copied.size() < 2;) {
    const auto events =
        house.core->events(house.actor("author"), task.id, after, std::chrono::seconds(20));
    ASSERT_TRUE(events && !events->empty());
    after = events->back().id;
    for (const EventView& event : *events)
      if (event.type.starts_with("run.")) copied.push_back(event);
  }
  EXPECT_EQ(copied[0].type, "run.started");
  EXPECT_EQ(copied[0].at, "2026-01-02T03:04:05.678Z");
  EXPECT_FALSE(copied[0].data.contains('\n')) << copied[0].data;
  EXPECT_EQ(copied[1].type, "run.finished");
  EXPECT_TRUE(os::parse_time(copied[1].at).has_value()) << copied[1].at;
  house.machine.finish_running();
  house.wait_for(task.id, TaskState::awaiting_approval);
}

}  // namespace
}  // namespace runner
