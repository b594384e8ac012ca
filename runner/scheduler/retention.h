// Retention: what is no longer kept, from time to time.
#pragma once

#include <chrono>

#include "runner/context.h"

namespace runner {

// Removes what the configuration's `retention` says: expired keys and waits for a decision, unused
// packs, directories of lost attempts, objects of ended tasks, evidence of tasks that did not land,
// unused bases and trees, events; and files of packs and bases that no row of the database names,
// because serve was killed between the two. Called by the scheduler's thread only; does something
// every kEvery at most.
class RetentionSweep {
 public:
  explicit RetentionSweep(const ServiceContext& context) : context_(context) {}
  void run_if_due();
  // All at once; errors are logged and the next sweep tries again.
  void run();

  static constexpr std::chrono::minutes kEvery{10};

 private:
  os::Result<void> expire_waits();
  os::Result<void> remove_packs();
  os::Result<void> remove_attempts();
  os::Result<void> remove_evidence();
  os::Result<void> remove_bases();
  os::Result<void> remove_trees();
  // Entries of packs/ and layers/ without a row, older than the directories of lost attempts.
  os::Result<void> remove_unnamed();
  os::Result<void> remove_orphans(const std::string& owner);

  const ServiceContext& context_;
  std::chrono::steady_clock::time_point last_{};
};

// Removes quarantines of tasks that are not there or have ended, if they were not touched for
// `age`: a change that is being taken in has its quarantine before its row.
os::Result<void> sweep_quarantine(const ServiceContext& context, std::chrono::milliseconds age);

}  // namespace runner
