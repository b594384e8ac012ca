#include "runner/cli/check_bench.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gates/gate.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/private_executor.h"
#include "runner/config.h"
#include "runner/executor/local.h"
#include "runner/limits.h"
#include "runner/scheduler/attempt_stage.h"
#include "runner/scheduler/task_needs.h"
#include "runner/tree_folder.h"
#include "sandbox/os/files.h"
#include "tasks/policy_json.h"

namespace runner::cli {
namespace {

// The first CPUs that may be leased, as many as the policy's largest step wants.
os::Result<AttemptStart> lease(const tasks::Policy& policy, const ExecutorProbe& probe) {
  store::TaskRow needs;
  needs.intent = tasks::Intent::verify;
  TRY(fill_needs(needs, policy, probe));
  AttemptStart start;
  start.memory = os::Bytes{static_cast<std::uint64_t>(needs.memory)};
  const std::size_t count =
      std::min(probe.cpus.size(), static_cast<std::size_t>(std::max(needs.cpus, 1)));
  start.cpus.assign(probe.cpus.begin(), probe.cpus.begin() + static_cast<std::ptrdiff_t>(count));
  return start;
}

}  // namespace

bool is_allowed_to_check(const std::string& command) {
  if (::geteuid() == 0) return true;
  say(command + " needs root for its sandboxes: sudo proofhouse " + command +
      " …, or post the change to a server with `proofhouse submit`");
  return false;
}

std::string refusal_text(const tasks::Refusal& refusal) {
  std::string text = refusal.code + ": ";
  if (!refusal.path.empty()) text += refusal.path + ": ";
  return text + refusal.detail;
}

CheckBench::CheckBench(CheckCache cache, std::unique_ptr<Executor> executor, ExecutorProbe probe,
                       std::string instance)
    : cache_(std::move(cache)),
      executor_(std::move(executor)),
      probe_(std::move(probe)),
      instance_(std::move(instance)) {}

os::Result<std::unique_ptr<CheckBench>> CheckBench::open(
    const std::vector<std::string>& allow_gaps) {
  CheckCache cache = TRY(CheckCache::open());
  TRY(cache.trim());
  Config config;
  config.data = cache.path();
  ExecutorOptions options = TRY(executor_options(config, ::geteuid(), ::getegid()));
  options.gaps_allowed = allow_gaps;
  std::unique_ptr<LocalExecutor> executor =
      LocalExecutor::over(TRY(start_private_executor(options)));
  cancel_on_interrupt();
  ExecutorProbe probe = TRY_CONTEXT(executor->probe(), "executor");
  if (!probe.missing.empty())
    return os::fail(os::Code::unavailable,
                    "the sandbox lacks " + probe.missing.front() +
                        "; see `proofhouse doctor`, or allow it with --allow-gap");
  TRY(sweep_attempts(cache, *executor));
  return std::unique_ptr<CheckBench>(
      new CheckBench(std::move(cache), std::move(executor), std::move(probe), instance_of(config)));
}

tasks::Plan CheckBench::plan_of(tasks::AttemptKind kind) const {
  tasks::Plan plan;
  plan.instance = instance_;
  plan.task = "t_check";
  plan.kind = kind;
  plan.intent = tasks::Intent::verify;
  return plan;
}

os::Result<TakenIn> CheckBench::take_in(tasks::IngestSpec spec, const std::string& git_dir,
                                        const std::map<std::string, std::string>& files) {
  status_.show("taking the change in");
  CheckAttempt attempt = TRY(CheckAttempt::create(cache_, *executor_));
  for (const auto& [name, bytes] : files) TRY(attempt.stage(name, bytes));
  tasks::Plan plan = plan_of(tasks::AttemptKind::ingest);
  plan.ingest = std::move(spec);
  plan.ingest.have_trees = TreeFolder(cache_.path() + "/trees").list();
  AttemptStart start;
  start.memory = kIngestMemory;
  start.repository = git_dir;
  const tasks::Evidence evidence = TRY(attempt.run(std::move(plan), std::move(start), status_));
  if (evidence.infra) return os::fail(os::Code::unavailable, evidence.infra->detail);
  TakenIn taken{evidence.change, {}};
  if (!taken.change.refusal)
    taken.policy_json = TRY(attempt.read("out/policy.json", kPolicyJsonLimit));
  status_.clear();
  return taken;
}

os::Result<CheckResult> CheckBench::verify(const TakenIn& taken, tasks::Claims claims) {
  tasks::Policy policy = TRY(tasks::policy_from_json(taken.policy_json));
  AttemptStart start = TRY(lease(policy, probe_));
  const std::string key = base_key(taken.change.base_tree.hex(), taken.change.policy_sha256,
                                   probe_.environment_sha256, probe_.level);
  CheckAttempt attempt = TRY(CheckAttempt::create(cache_, *executor_));
  TRY(attempt.stage("policy.json", taken.policy_json));
  tasks::Plan plan = plan_of(tasks::AttemptKind::verify);
  plan.claims = std::move(claims);
  plan.change = taken.change;
  plan.policy_file = "policy.json";
  plan.layer = key;
  if (cache_.has_base(key)) {
    TRY(cache_.stage_base(key, attempt.directory()));
    plan.base_file = "base.json";
  } else {
    TRY(cache_.forget_base(key));
  }
  tasks::Evidence evidence = TRY(attempt.run(std::move(plan), std::move(start), status_));
  std::optional<gates::Judgement> judgement;
  if (evidence.status == tasks::AttemptStatus::completed) {
    const os::Fd directory = TRY(attempt.open_directory());
    TRY(load_parsed_reports(directory.get(), evidence));
    judgement = gates::judge(policy, evidence);
    if (const auto base = base_evidence_of(evidence))
      TRY(cache_.keep_base(key, *base, directory.get()));
  }
  status_.clear();
  return CheckResult{std::move(attempt), std::move(policy), std::move(evidence),
                     std::move(judgement)};
}

}  // namespace runner::cli
