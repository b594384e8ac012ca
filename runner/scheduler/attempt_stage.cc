#include "runner/scheduler/attempt_stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/scheduler/benchmark_spending.h"
#include "runner/store/evidence_refs.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

os::Result<void> write_plain(const std::string& path, std::string_view bytes) {
  const os::Fd file = TRY(os::open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  return os::write_all(file.get(), bytes);
}

// The kept evidence of the base as JSON; empty where the base has to be built.
os::Result<std::string> kept_base(const ServiceContext& context, const std::string& key) {
  if (::access(layer_path(context.config, key).c_str(), F_OK) != 0) return std::string();
  const auto blob = TRY(context.store.read(
      [&](store::Database& database) { return store::find_base(database, key); }));
  if (!blob) return std::string();
  TRY(context.store.write(
      [&](store::Database& database) { return store::touch_base(database, key, now_text()); }));
  return context.evidence.get(*blob, kAttemptResultLimit);
}

os::Result<void> stage_base(const ServiceContext& context, const std::string& directory,
                            const std::string& kept) {
  const tasks::Evidence base = TRY(tasks::evidence_from_json(kept));
  for (const tasks::RunRecord& run : base.runs) {
    for (const tasks::ReportRecord& report : run.reports) {
      if (report.parsed_sha256.empty()) continue;
      TRY(write_plain(directory + "/evidence/" + report.parsed_sha256,
                      TRY(context.evidence.get(report.parsed_sha256, kReportJsonLimit))));
    }
  }
  return write_plain(directory + "/base.json", kept);
}

os::Result<tasks::Plan> plan_of(const ServiceContext& context, const store::TaskRow& task,
                                const store::AttemptRow& attempt) {
  tasks::Plan plan;
  plan.instance = context.instance;
  plan.task = task.id;
  plan.attempt = attempt.id;
  plan.fence = attempt.fence;
  plan.created_at = now_text();
  plan.deadline_at = attempt.deadline_at;
  plan.kind = tasks::AttemptKind::verify;
  plan.intent = task.intent;
  plan.claims = task.claims;
  for (const std::string& step : task.steps) plan.steps.emplace_back(step);
  plan.change = task.change;
  plan.policy_file = "policy.json";
  plan.cpus = attempt.cpus;
  plan.memory = os::Bytes{static_cast<std::uint64_t>(attempt.memory)};
  return plan;
}

}  // namespace

std::string base_key(const std::string& base_tree, const std::string& policy_sha256,
                     const std::string& environment_sha256, const std::string& level) {
  return os::sha256(base_tree + "\n" + policy_sha256 + "\n" + environment_sha256 + "\n" + level)
      .hex();
}

os::Result<void> stage_attempt(const ServiceContext& context, const store::TaskRow& task,
                               const store::AttemptRow& attempt, const std::string& key) {
  const std::string directory = attempt_path(context.config, attempt.id, attempt.fence);
  TRY(os::make_directories(context.config.data + "/attempts/" + attempt.id, 0711));
  TRY(os::make_directories(directory + "/evidence", 0755));
  tasks::Plan plan = TRY(plan_of(context, task, attempt));
  plan.layer = key;
  const std::string policy_json = TRY(context.evidence.get(task.policy_sha256, kPolicyJsonLimit));
  TRY(write_plain(directory + "/policy.json", policy_json));
  if (task.intent != tasks::Intent::run) {
    const tasks::Policy policy = TRY(tasks::policy_from_json(policy_json));
    TRY(context.store.write(
        [&](store::Database& database) { return plan_spending(database, task, policy, plan); }));
    const std::string base = TRY(kept_base(context, key));
    if (!base.empty()) {
      TRY(stage_base(context, directory, base));
      plan.base_file = "base.json";
    }
  }
  return os::write_file_durably(directory + "/plan.json", tasks::plan_to_json(plan), 0644);
}

std::chrono::milliseconds gpu_wait_of(const ServiceContext& context, const store::TaskRow& task) {
  const os::Result<std::string> text = context.evidence.get(task.policy_sha256, kPolicyJsonLimit);
  const os::Result<tasks::Policy> policy =
      text ? tasks::policy_from_json(*text)
           : os::Result<tasks::Policy>(std::unexpected(text.error()));
  const bool asks = policy && std::ranges::any_of(policy->steps, [](const tasks::Step& step) {
                      return step.gpu.has_value();
                    });
  return asks ? tasks::kMostGpuWait : std::chrono::milliseconds(0);
}

std::optional<tasks::Evidence> base_evidence_of(const tasks::Evidence& evidence) {
  tasks::Evidence base = evidence;
  base.comparisons.clear();
  std::erase_if(base.runs, [](const tasks::RunRecord& run) {
    return run.key.side != tasks::Side::base || run.key.pair.has_value() ||
           run.key.variant != tasks::Variant::plain || run.key.rerun.has_value();
  });
  const bool is_sound = std::ranges::all_of(base.runs, [](const tasks::RunRecord& run) {
    return !run.carried && run.outcome.kind == sandbox::OutcomeKind::exited;
  });
  if (base.runs.empty() || !is_sound) return std::nullopt;
  return base;
}

}  // namespace runner
