// Scheduler: the one thread that starts attempts, takes their ends, and keeps the house clean.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runner/context.h"
#include "runner/scheduler/attempt_watch.h"
#include "runner/scheduler/ingestor.h"
#include "runner/scheduler/plan.h"
#include "runner/scheduler/result_taker.h"
#include "runner/scheduler/retention.h"
#include "runner/store/records.h"
#include "sandbox/os/guarded.h"

namespace runner {

// What the machine can do, as the executor said last.
struct MachineState {
  std::optional<ExecutorProbe> probe;  // empty: the executor does not answer
  std::string problem;                 // why there is no probe
  Free free;                           // what is not leased
};

class Scheduler {
 public:
  // All outlive this object. Nothing runs before start().
  Scheduler(const ServiceContext& context, AttemptWatch& watch, Ingestor& ingestor);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Asks the executor what it can do, takes up what an earlier serve left, then starts the thread.
  void start();
  // Ends the thread; attempts live on.
  void stop();
  // No attempt is started any more (those under way go on).
  void drain();
  bool is_draining() const;
  MachineState machine() const;

  // One round: ends, cancels and deadlines, events, starts, retention. What the thread repeats;
  // tests call it themselves.
  void run_once();

 private:
  struct Seen {  // of an active attempt, since this serve started
    bool start_accepted = false;
    bool is_told = false;  // the log has that it cannot be started
    std::optional<std::chrono::steady_clock::time_point> missing_since;
    std::string key;  // base key that it was planned with
  };

  void run(const std::stop_token& stop);
  void refresh_probe();
  void sweep_unknown(const std::map<AttemptKey, AttemptStatusReport>& reports);
  void follow(const store::AttemptRow& attempt,
              const std::map<AttemptKey, AttemptStatusReport>& reports);
  void follow_missing(const store::AttemptRow& attempt, Seen& seen);
  void end(const store::AttemptRow& attempt, ResultTaker::End how, const std::string& detail);
  void stop_overdue(const store::AttemptRow& attempt);
  void start_waiting(const std::vector<store::AttemptRow>& active);
  os::Result<void> start_task(const Placement& placement);
  os::Result<void> start_attempt(const store::AttemptRow& attempt);
  Free free_of(const std::vector<store::AttemptRow>& active) const;
  std::string base_key_of(const store::TaskRow& task) const;

  const ServiceContext& context_;
  AttemptWatch& watch_;
  Ingestor& ingestor_;
  ResultTaker taker_;
  RetentionSweep retention_;
  std::map<AttemptKey, Seen> seen_;
  std::set<AttemptKey> ended_;  // taken, but not removed by the executor yet
  std::chrono::steady_clock::time_point probed_at_{};
  os::Guarded<MachineState> machine_;
  std::atomic<bool> draining_ = false;
  std::jthread thread_;  // last: joined before the rest goes
};

}  // namespace runner
