// Backtest: the kept evidence of a project's last tasks, judged by another policy.
#include <algorithm>

#include "gates/backtest.h"
#include "runner/scheduler/result_taker.h"
#include "runner/service_core.h"
#include "runner/store/tasks.h"
#include "sandbox/os/digest.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

constexpr int kMostTasks = 200;
constexpr int kPage = 200;

// The gate whose first reason is the judgement's; empty: none is to blame.
std::string deciding_gate(const gates::Judgement& judgement) {
  const auto found = std::ranges::find_if(judgement.gates, [&](const gates::GateResult& gate) {
    return gate.status != gates::GateStatus::passed && !gate.reasons.empty() &&
           gate.reasons.front() == judgement.reason;
  });
  return found == judgement.gates.end() ? std::string() : found->name.str();
}

bool was_judged(const store::TaskRow& task) {
  return !task.judgement.empty() && task.intent != tasks::Intent::run;
}

}  // namespace

Answer<std::vector<store::TaskRow>> ServiceCore::judged_tasks(const std::string& project,
                                                              int limit) {
  return ASK(
      store_->read([&](store::Database& database) -> os::Result<std::vector<store::TaskRow>> {
        TaskFilter filter;
        filter.project = project;
        filter.limit = kPage;
        std::vector<store::TaskRow> judged;
        while (true) {
          const auto page = TRY(store::list_tasks(database, filter));
          for (const store::TaskRow& task : page)
            if (was_judged(task) && std::ssize(judged) < limit) judged.push_back(task);
          if (std::ssize(page) < kPage || std::ssize(judged) == limit) return judged;
          filter.after = page.back().id;
        }
      }));
}

BacktestRow ServiceCore::backtest_task(const store::TaskRow& task, const tasks::Policy& policy) {
  BacktestRow row;
  row.task = task.id;
  row.title = task.title;
  row.was = task.verdict;
  os::Result<tasks::Evidence> evidence = evidence_of(task);
  const os::Result<JudgedEvidence> kept =
      evidence ? judge_kept(evidence_, std::move(*evidence))
               : os::Result<JudgedEvidence>(std::unexpected(evidence.error()));
  if (!kept) {
    row.words = "its evidence is not kept any more";
    return row;
  }
  const gates::Replay replay = gates::replay(kept->policy, policy, kept->evidence);
  row.words = replay.unknown;
  if (!replay.unknown.empty()) return row;
  row.now = gates::verdict_name(replay.judgement.verdict);
  row.gate = deciding_gate(replay.judgement);
  row.words = replay.judgement.reason.text;
  return row;
}

Answer<Backtest> ServiceCore::backtest(const Actor& actor, const std::string& name,
                                       const BacktestRequest& request) {
  store::ProjectRow project = ASK(visible_project(actor, name));
  if (!actor.has(Role::owner, name) && !actor.has(Role::admin, name))
    return refuse("forbidden", "only owners try another policy on a project's tasks",
                  "ask an owner of " + name);
  if (request.policy_yaml.empty()) return refuse_field("/policy", "the policy to try is missing");
  if (request.last < 1 || request.last > kMostTasks)
    return refuse_field("/last", "is 1 to " + std::to_string(kMostTasks) + " tasks");
  project.policy_yaml = request.policy_yaml;
  const std::string json = ASK(policy_of_tip(project));
  const tasks::Policy policy = ASK(tasks::policy_from_json(json));
  Backtest answer{.policy_sha256 = os::sha256(json).hex(), .rows = {}};
  for (const store::TaskRow& task : ASK(judged_tasks(name, request.last)))
    answer.rows.push_back(backtest_task(task, policy));
  return answer;
}

}  // namespace runner
