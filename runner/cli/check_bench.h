// CheckBench: what `check` and `policy prove` work with: the cache, an executor started for them
// alone, and the way of one change through ingest and the policy's gates.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gates/verdict.h"
#include "runner/cli/check_attempt.h"
#include "runner/cli/check_cache.h"
#include "runner/cli/terminal.h"
#include "runner/executor/executor.h"
#include "tasks/evidence.h"
#include "tasks/plan.h"
#include "tasks/policy.h"

namespace runner::cli {

// A change taken in, and the policy that is in force for it.
struct TakenIn {
  tasks::IngestResult change;
  std::string policy_json;  // canonical; empty: the change was refused
};

// What became of a change.
struct CheckResult {
  CheckAttempt attempt;  // its directory, with logs and raw reports
  tasks::Policy policy;
  tasks::Evidence evidence;                   // with parsed reports, if it was judged
  std::optional<gates::Judgement> judgement;  // nothing: a fault of ours ended the attempt
};

// True for root; else says what to do instead of the command.
bool is_allowed_to_check(const std::string& command);

// Why a change was not taken: "code: path: detail".
std::string refusal_text(const tasks::Refusal& refusal);

// Not thread-safe. Holds the cache's lock as long as it lives.
class CheckBench {
 public:
  // Needs root. unavailable: the sandbox lacks a protection that is not named in `allow_gaps`.
  // Ctrl-C then ends what runs.
  static os::Result<std::unique_ptr<CheckBench>> open(const std::vector<std::string>& allow_gaps);

  // Takes a change of the repository at `git_dir` in. Of `spec` the source says what is taken;
  // `files`: what its patch_file and policy_file name, by those names.
  os::Result<TakenIn> take_in(tasks::IngestSpec spec, const std::string& git_dir,
                              const std::map<std::string, std::string>& files);

  // Runs what the policy asks for, and judges it. Uses and keeps the build of the base.
  os::Result<CheckResult> verify(const TakenIn& taken, tasks::Claims claims);

  StatusLine& status() { return status_; }

 private:
  CheckBench(CheckCache cache, std::unique_ptr<Executor> executor, ExecutorProbe probe,
             std::string instance);
  tasks::Plan plan_of(tasks::AttemptKind kind) const;

  CheckCache cache_;
  std::unique_ptr<Executor> executor_;
  ExecutorProbe probe_;
  std::string instance_;
  StatusLine status_;
};

}  // namespace runner::cli
