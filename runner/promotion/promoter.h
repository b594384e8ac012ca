// Promoter: the promotion queues; moves the target branches, one task at a time.
#pragma once

#include <chrono>
#include <map>
#include <span>
#include <string>
#include <thread>

#include "runner/context.h"
#include "runner/scheduler/ingestor.h"
#include "runner/scheduler/scheduler.h"
#include "runner/store/records.h"
#include "sandbox/os/guarded.h"

namespace runner {

// How often a task gets new landing evidence because the target moved: once for what landed before
// it, else for what others pushed.
inline constexpr int kMaxRebases = 10;
// A task that cannot be landed or rebased this often in a row goes to the end of its queue.
inline constexpr int kMaxSetbacks = 5;

// Lands the tasks of each project's queue in the order in which they entered it, on a thread of its
// own: approvals suffice already and the evidence is on exactly (target, base, candidate, tree,
// policy). A target that moved: the first is rebased and keeps its place while new evidence is
// made; those behind it wait, so that each is tested again once, not once for each that lands. A
// promotion is noted before the ref moves, so that after a crash the ref is read back and the task
// finished, never landed twice.
class Promoter {
 public:
  // All outlive this object. Nothing runs before start().
  Promoter(const ServiceContext& context, Ingestor& ingestor, const Scheduler& scheduler);
  ~Promoter();
  Promoter(const Promoter&) = delete;
  Promoter& operator=(const Promoter&) = delete;

  void start();
  void stop();
  // One look at every queue; what the thread repeats.
  void run_once();
  // Why a task that is the first of its queue is not done yet; empty: it is under way.
  std::string problem_of(const std::string& task) const;

 private:
  using Queue = std::span<store::TaskRow>;  // of one project, in order; not empty
  struct Ground {
    store::ProjectRow project;
    GitTip tip;  // nothing while the project is frozen
  };
  void look_at(Queue queue);
  os::Result<Ground> ground_of(const std::string& name);
  os::Result<void> advance(Queue queue, const Ground& ground);
  os::Result<bool> finish_moved(store::TaskRow& task, const Ground& ground);
  os::Result<void> put_last(const std::string& task, const std::string& why);
  // Ends a task that somebody cancelled and whose commit was never on its way to the target.
  os::Result<bool> end_if_cancelled(store::Database& database, store::TaskRow& task);
  os::Result<void> land(store::TaskRow& task, const store::ProjectRow& row_of);
  os::Result<void> finish(store::TaskRow& task, const store::ProjectRow& row_of,
                          const std::string& old);
  os::Result<void> freeze(store::TaskRow& task, const Project& project, const std::string& why);
  os::Result<void> rebase(store::TaskRow& task, const store::ProjectRow& project,
                          const GitTip& tip);
  os::Result<void> take_rebased(store::TaskRow& task, const Ingested& ingested);
  os::Result<void> end_rejected(store::TaskRow& task, const std::string& code,
                                const std::string& reason, const std::string& next_step);

  os::Result<void> end_unproven(store::TaskRow& task, const std::string& objection);

  struct Setback {
    std::string problem;
    int count = 0;  // in a row
    std::chrono::steady_clock::time_point again;
  };
  const ServiceContext& context_;
  Ingestor& ingestor_;
  const Scheduler& scheduler_;
  os::Guarded<std::map<std::string, Setback>> setbacks_;
  std::jthread thread_;  // last: joined before the rest goes
};

}  // namespace runner
