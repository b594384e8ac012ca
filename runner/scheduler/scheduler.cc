#include "runner/scheduler/scheduler.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "runner/clock.h"
#include "runner/log.h"
#include "runner/scheduler/attempt_stage.h"
#include "runner/scheduler/event_copy.h"
#include "runner/store/attempts.h"
#include "runner/store/record_json.h"
#include "runner/store/tasks.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Between rounds when nothing wakes the thread: how fresh events and logs are, and how soon the end
// of an attempt is seen whose notice was lost.
constexpr milliseconds kBusyRound{200};
constexpr milliseconds kIdleRound{1000};
constexpr seconds kProbeEvery{30};
constexpr seconds kProbeAgain{2};
// An attempt that the executor does not know and that left no result is given up after this long.
constexpr seconds kLostAfter{10};
// Over limits.total: the attempt itself ends its steps in time; this is for one that does not.
constexpr seconds kDeadlineGrace{30};
constexpr seconds kCancelGrace{5};

AttemptKey key_of(const store::AttemptRow& attempt) { return {attempt.id, attempt.fence}; }

bool is_for_now(os::Code code) {
  return code == os::Code::conflict || code == os::Code::unavailable || code == os::Code::exhausted;
}

void log_error(std::string_view what, const store::AttemptRow& attempt, const os::Error& error) {
  log_line(LogLevel::warn, what,
           {{"task", attempt.task},
            {"attempt", attempt.id},
            {"fence", std::to_string(attempt.fence)},
            {"error", error.message}});
}

}  // namespace

Scheduler::Scheduler(const ServiceContext& context, AttemptWatch& watch, Ingestor& ingestor)
    : context_(context), watch_(watch), ingestor_(ingestor), taker_(context), retention_(context) {}

Scheduler::~Scheduler() { stop(); }

void Scheduler::start() {
  refresh_probe();
  const os::Result<void> swept = sweep_quarantine(context_, milliseconds(0));
  if (!swept) log_line(LogLevel::warn, "quarantine not swept", {{"error", swept.error().message}});
  const auto reports = watch_.list();
  if (reports) sweep_unknown(*reports);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Scheduler::stop() {
  thread_.request_stop();
  context_.store.wake_waits();
  if (thread_.joinable()) thread_.join();
}

void Scheduler::drain() { draining_ = true; }
bool Scheduler::is_draining() const { return draining_; }

MachineState Scheduler::machine() const {
  return machine_.with([](const MachineState& state) { return state; });
}

void Scheduler::run(const std::stop_token& stop) {
  std::uint64_t version = 0;
  while (!stop.stop_requested()) {
    run_once();
    const milliseconds pause = seen_.empty() ? kIdleRound : kBusyRound;
    version = context_.store.wait_change(version, steady_clock::now() + pause);
  }
}

void Scheduler::run_once() {
  refresh_probe();
  const auto active = context_.store.read(store::active_attempts);
  if (!active) {
    log_line(LogLevel::error, "attempts not read", {{"error", active.error().message}});
    return;
  }
  const auto reports = watch_.list();
  for (const store::AttemptRow& attempt : *active) {
    const os::Result<void> copied = copy_attempt_events(context_, attempt);
    if (!copied) log_error("events not copied", attempt, copied.error());
    // An executor that does not answer says nothing about its attempts: wait for it.
    if (reports) follow(attempt, *reports);
    stop_overdue(attempt);
  }
  std::erase_if(ended_, [&](const AttemptKey& key) {
    return context_.executor.remove(tasks::AttemptId(key.first), key.second).has_value();
  });
  ingestor_.remove_ended();
  const auto still_active = context_.store.read(store::active_attempts);
  if (still_active) start_waiting(*still_active);
  retention_.run_if_due();
}

void Scheduler::refresh_probe() {
  const bool has_probe =
      machine_.with([](const MachineState& now) { return now.probe.has_value(); });
  const steady_clock::time_point now = steady_clock::now();
  if (probed_at_ != steady_clock::time_point{} &&
      now - probed_at_ < (has_probe ? kProbeEvery : kProbeAgain))
    return;
  probed_at_ = now;
  os::Result<ExecutorProbe> probe = context_.executor.probe();
  machine_.with([&](MachineState& state) {
    state.probe.reset();
    state.problem.clear();
    if (probe)
      state.probe = std::move(*probe);
    else
      state.problem = probe.error().message;
  });
}

// What an earlier serve left with the executor: ingests that nobody waits for any more, which the
// database does not know, and attempts whose result was taken but not removed.
void Scheduler::sweep_unknown(const std::map<AttemptKey, AttemptStatusReport>& reports) {
  for (const auto& [key, report] : reports) {
    const auto row = context_.store.read([&](store::Database& database) {
      return store::find_attempt(database, key.first, key.second);
    });
    if (!row || row->has_value()) continue;
    if (report.state == AttemptState::running)
      static_cast<void>(
          context_.executor.cancel(report.attempt, report.fence, milliseconds(0)).has_value());
    ended_.insert(key);
  }
  const auto names = os::list_directory(context_.config.data + "/attempts");
  if (!names) return;
  for (const std::string& name : *names) {
    const auto fences = os::list_directory(context_.config.data + "/attempts/" + name);
    if (!fences) continue;
    for (const std::string& fence_name : *fences) {
      const std::int64_t fence = std::strtoll(fence_name.c_str(), nullptr, 10);
      const auto row = context_.store.read(
          [&](store::Database& database) { return store::find_attempt(database, name, fence); });
      const bool is_ingest = row && !row->has_value();
      const bool is_taken = row && row->has_value() && !(*row)->result_sha256.empty();
      if (is_ingest || is_taken) ended_.insert({name, fence});
    }
  }
}

void Scheduler::follow(const store::AttemptRow& attempt,
                       const std::map<AttemptKey, AttemptStatusReport>& reports) {
  Seen& seen = seen_[key_of(attempt)];
  const auto found = reports.find(key_of(attempt));
  if (found == reports.end()) {
    follow_missing(attempt, seen);
    return;
  }
  seen.missing_since.reset();
  seen.start_accepted = true;
  switch (found->second.state) {
    case AttemptState::running:
      if (attempt.state == store::AttemptRowState::created) {
        const os::Result<void> marked = context_.store.write([&](store::Database& database) {
          return store::mark_started(database, attempt, now_text());
        });
        if (!marked) log_error("start not noted", attempt, marked.error());
      }
      return;
    case AttemptState::ended:
      end(attempt, ResultTaker::End::without_result, "the attempt ended without a result");
      return;
    case AttemptState::lost:
      end(attempt, ResultTaker::End::lost, "lost: " + found->second.detail);
      return;
  }
}

void Scheduler::follow_missing(const store::AttemptRow& attempt, Seen& seen) {
  // Its row is durable, but the executor may never have heard of it: the same start again is none.
  if (attempt.state == store::AttemptRowState::created && !seen.start_accepted) {
    if (!attempt.stop_reason.empty()) {
      end(attempt, ResultTaker::End::without_result, "it was stopped before it could start");
      return;
    }
    const os::Result<void> started = start_attempt(attempt);
    if (started) {
      seen.start_accepted = true;
      return;
    }
    if (!std::exchange(seen.is_told, true))
      log_error("attempt not started", attempt, started.error());
    // Not now (a lease is still held, the executor is busy) is no sign that it is lost.
    if (is_for_now(started.error().code)) return;
  }
  const steady_clock::time_point now = steady_clock::now();
  if (!seen.missing_since) seen.missing_since = now;
  const bool has_result =
      os::open_file(attempt_path(context_.config, attempt.id, attempt.fence) + "/result.json",
                    O_PATH)
          .has_value();
  if (has_result || now - *seen.missing_since >= kLostAfter)
    end(attempt, ResultTaker::End::lost, "the executor does not know the attempt any more");
}

void Scheduler::end(const store::AttemptRow& attempt, ResultTaker::End how,
                    const std::string& detail) {
  std::string key = seen_[key_of(attempt)].key;
  if (key.empty()) {
    const auto task = context_.store.read(
        [&](store::Database& database) { return store::get_task(database, attempt.task); });
    if (task) key = base_key_of(*task);
  }
  const os::Result<void> copied = copy_attempt_events(context_, attempt);
  if (!copied) log_error("events not copied", attempt, copied.error());
  os::Result<void> taken = taker_.take(attempt, key);
  const bool has_result = taken.has_value() || taken.error().code != os::Code::not_found;
  if (!has_result) taken = taker_.give_up(attempt, how, detail);
  if (!taken && taken.error().code != os::Code::conflict) {
    log_error("result not taken", attempt, taken.error());
    return;
  }
  // The directory of one that left no result stays for diagnosis, as long as retention says.
  if (has_result) ended_.insert(key_of(attempt));
  seen_.erase(key_of(attempt));
  watch_.forget(key_of(attempt));
}

void Scheduler::stop_overdue(const store::AttemptRow& attempt) {
  if (!seen_.contains(key_of(attempt))) return;
  std::string reason = attempt.stop_reason;
  if (reason.empty()) {
    const auto task = context_.store.read(
        [&](store::Database& database) { return store::get_task(database, attempt.task); });
    if (task && !task->cancel_by.empty())
      reason = "cancel";
    else if (attempt.deadline_at < now_text())
      reason = "deadline";
    else
      return;
    const os::Result<void> noted = context_.store.write([&](store::Database& database) {
      return store::set_stop_reason(database, attempt, reason);
    });
    if (!noted) return;
  }
  const os::Result<void> cancelled = context_.executor.cancel(
      tasks::AttemptId(attempt.id), attempt.fence, milliseconds(kCancelGrace));
  if (!cancelled) log_error("attempt not stopped", attempt, cancelled.error());
}

Free Scheduler::free_of(const std::vector<store::AttemptRow>& active) const {
  Free free;
  machine_.with([&](const MachineState& state) {
    if (!state.probe) return;
    free.cpus = state.probe->cpus;
    free.memory = static_cast<std::int64_t>(state.probe->memory.count);
  });
  for (const store::AttemptRow& attempt : active) {
    std::erase_if(free.cpus, [&](int cpu) {
      return std::ranges::find(attempt.cpus, cpu) != attempt.cpus.end();
    });
    free.memory -= attempt.memory;
  }
  return free;
}

void Scheduler::start_waiting(const std::vector<store::AttemptRow>& active) {
  const Free free = free_of(active);
  const bool can_start = machine_.with([&](MachineState& state) {
    state.free = free;
    return state.probe && state.probe->missing.empty();
  });
  if (!can_start || draining_) return;
  const auto queued = context_.store.read(
      [](store::Database& database) { return store::tasks_in_state(database, TaskState::queued); });
  if (!queued || queued->empty()) return;
  std::vector<Waiting> waiting;
  for (const store::TaskRow& task : *queued)
    waiting.push_back(Waiting{.task = task.id,
                              .priority = task.priority,
                              .sequence = task.sequence,
                              .cpus = task.cpus,
                              .memory = task.memory,
                              .overtaken = task.overtaken});
  const SchedulePlan plan = plan_starts(std::move(waiting), free);
  for (const Placement& placement : plan.starts) {
    const os::Result<void> started = start_task(placement);
    if (!started && started.error().code != os::Code::conflict)
      log_line(LogLevel::warn, "task not started",
               {{"task", placement.task}, {"error", started.error().message}});
  }
  if (plan.overtaken.empty()) return;
  static_cast<void>(context_.store
                        .write([&](store::Database& database) -> os::Result<void> {
                          for (const std::string& id : plan.overtaken) {
                            store::TaskRow task = TRY(store::get_task(database, id));
                            ++task.overtaken;
                            if (task.state == TaskState::queued)
                              TRY(store::save_task(database, task));
                          }
                          return {};
                        })
                        .has_value());
}

std::string Scheduler::base_key_of(const store::TaskRow& task) const {
  return machine_.with([&](const MachineState& state) {
    return base_key(task.change.base_tree.hex(), task.policy_sha256,
                    state.probe ? state.probe->environment_sha256 : std::string(),
                    state.probe ? state.probe->level : std::string());
  });
}

os::Result<void> Scheduler::start_task(const Placement& placement) {
  store::TaskRow task = TRY(context_.store.read(
      [&](store::Database& database) { return store::get_task(database, placement.task); }));
  if (task.attempt.empty()) task.attempt = "a_" + os::make_ulid();
  ++task.fence;
  store::AttemptRow attempt{
      .id = task.attempt,
      .fence = task.fence,
      .task = task.id,
      .state = store::AttemptRowState::created,
      .why = task.attempt_why,
      .cpus = placement.cpus,
      .memory = placement.memory,
      .stop_reason = {},
      .result_sha256 = {},
      .events_offset = 0,
      .deadline_at = time_text_after(milliseconds(task.total_ms) + kDeadlineGrace +
                                     gpu_wait_of(context_, task)),
      .started_at = now_text(),
      .finished_at = {}};
  const std::string key = base_key_of(task);
  TRY_CONTEXT(stage_attempt(context_, task, attempt, key), "stage " + attempt.id);
  TRY(context_.store.write([&](store::Database& database) -> os::Result<void> {
    // Read again: it may have been cancelled meanwhile.
    store::TaskRow now = TRY(store::get_task(database, task.id));
    if (now.state != TaskState::queued || now.fence + 1 != task.fence)
      return os::fail(os::Code::conflict, "task " + task.id + " is no longer queued");
    now.attempt = task.attempt;
    now.fence = task.fence;
    TRY(store::insert_attempt(database, attempt));
    return store::move_task(database, now, TaskState::running,
                            store::object_json({{"attempt", attempt.id},
                                                {"fence", std::to_string(attempt.fence)},
                                                {"why", attempt.why}}));
  }));
  os::failpoint("leased");
  Seen& seen = seen_[{attempt.id, attempt.fence}];
  seen.key = key;
  TRY(start_attempt(attempt));
  seen.start_accepted = true;
  return {};
}

os::Result<void> Scheduler::start_attempt(const store::AttemptRow& attempt) {
  AttemptStart start;
  start.attempt = tasks::AttemptId(attempt.id);
  start.fence = attempt.fence;
  start.kind = tasks::AttemptKind::verify;
  start.cpus = attempt.cpus;
  start.memory = os::Bytes{static_cast<std::uint64_t>(attempt.memory)};
  return context_.executor.start(start);
}

}  // namespace runner
