// StepRunner: executes one run of a policy's step in the jail and turns it into a RunRecord.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/jail_client.h"
#include "tasks/event_log.h"
#include "tasks/evidence.h"
#include "tasks/evidence_store.h"
#include "tasks/plan.h"
#include "tasks/step_gpus.h"

namespace tasks {

// What a StepRunner works with; all borrowed, all must outlive it.
struct StepRunnerContext {
  const Plan& plan;
  const Policy& policy;
  sandbox::JailClient& jail;
  EvidenceStore& store;
  EventLog& events;
  int attempt_directory = -1;
  int cancel_fd = -1;  // readable: cancel
  sandbox::gpu::DeskClient& gpus;
  std::chrono::steady_clock::time_point deadline;
};

// Keeps the jail's workspaces and the ids of the runs made so far. Not thread-safe.
class StepRunner {
 public:
  // `carried` are kept runs of the base: their workspace is the kept layer, their reports count.
  StepRunner(StepRunnerContext context, const std::vector<RunRecord>& carried);

  // Runs `key.step` once; a step that interacts runs with it, and its record comes first. What a
  // step did is in the record, whatever it did; an Error is a fault of ours (the jail is gone,
  // evidence cannot be written): the attempt ends as infra. `only`: the benchmarks that matter;
  // empty: all.
  os::Result<std::vector<RunRecord>> run(const RunKey& key, int order,
                                         const std::vector<std::string>& only = {});

  // Compares what the runs of those ids left, as the key's gate asks. Nothing: cancelled.
  os::Result<std::optional<Comparison>> compare(const ComparisonKey& key, const std::string& left,
                                                const std::string& right);

  const Policy& policy() const { return context_.policy; }

  // Keeps the base's workspace as the plan's layer, if all its shared steps succeeded here.
  os::Result<void> keep_base_layer();

 private:
  struct Workspace {
    std::string name;
    bool is_sound = true;  // no shared step failed in it
    bool has_writes = false;
  };

  os::Result<Workspace*> workspace_for(const RunKey& key);
  os::Result<sandbox::RunRequest> request_for(const RunKey& key, const Step& step,
                                              const std::string& id, const std::string& seed,
                                              const std::vector<std::string>& only);
  // A record with its id and seed, and what the jail is asked for it.
  struct Prepared {
    const Step* step = nullptr;  // of the policy
    RunRecord record;
    sandbox::RunRequest request;
  };
  os::Result<Prepared> prepare(const RunKey& key, const Step& step, int order,
                               const std::vector<std::string>& only);
  // Runs it, joined with `beside` (nullptr: alone), with the GPUs that they ask for: these are
  // given back however the run ends.
  os::Result<sandbox::RunResult> execute(Prepared& main, Prepared* beside);
  os::Result<RunRecord> take(Prepared prepared, const sandbox::RunResult& result);
  os::Result<void> take_log(const sandbox::RunResult& result, RunRecord& record);
  os::Result<void> take_reports(const Step& step, const sandbox::RunResult& result,
                                RunRecord& record);
  os::Result<void> take_outputs(const sandbox::RunResult& result, RunRecord& record);
  os::Result<void> parse_report(const std::string& collected, ReportRecord& record);
  // A run of `reader` in its strict jail, without mounts.
  sandbox::RunRequest reader_request(std::vector<std::string> command);

  // The run whose output the step of `key` needs.
  os::Result<std::string> source_of(const RunKey& key, const Need& need) const;
  std::string next_id();

  StepRunnerContext context_;
  bool base_is_carried_ = false;
  std::map<std::string, Workspace> workspaces_;
  std::map<RunKey, std::string> run_ids_;  // whose outputs can be mounted
  // One seed a step and attempt, and one more for each pair of an outside clock: base, change and
  // mixed get the same inputs, so they can be compared.
  std::map<std::pair<StepName, std::optional<int>>, std::string> seeds_;
  int counter_ = 0;
  StepGpus gpus_;
};

}  // namespace tasks
