// Promoter: moves the target branches, one task at a time.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "runner/context.h"
#include "runner/scheduler/ingestor.h"
#include "runner/scheduler/scheduler.h"
#include "runner/store/records.h"
#include "sandbox/os/guarded.h"

namespace runner {

// How often a task gets new landing evidence because the target moved.
inline constexpr int kMaxRebases = 3;

// Lands tasks in state promoting, on a thread of its own: approvals suffice already and the
// evidence is on exactly (target, base, candidate, tree, policy). A target that moved: rebase, new
// evidence. A promotion is noted before the ref moves, so that after a crash the ref is read back
// and the task finished, never landed twice.
class Promoter {
 public:
  // All outlive this object. Nothing runs before start().
  Promoter(const ServiceContext& context, Ingestor& ingestor, const Scheduler& scheduler);
  ~Promoter();
  Promoter(const Promoter&) = delete;
  Promoter& operator=(const Promoter&) = delete;

  void start();
  void stop();
  // One look at every task that is promoting; what the thread repeats.
  void run_once();
  // Why a task that is promoting is not done yet; empty: it is under way.
  std::string problem_of(const std::string& task) const;

 private:
  os::Result<void> promote(store::TaskRow task);
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
    std::chrono::steady_clock::time_point again;
  };
  const ServiceContext& context_;
  Ingestor& ingestor_;
  const Scheduler& scheduler_;
  os::Guarded<std::map<std::string, Setback>> setbacks_;
  std::jthread thread_;  // last: joined before the rest goes
};

}  // namespace runner
