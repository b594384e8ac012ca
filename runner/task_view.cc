#include "runner/task_view.h"

#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/promotion/approval_rules.h"
#include "runner/store/approvals.h"
#include "runner/store/attempts.h"
#include "sandbox/os/digest.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

AttemptView view_of(const store::AttemptRow& row) {
  return AttemptView{.id = row.id,
                     .fence = row.fence,
                     .state = std::string(store::attempt_row_state_name(row.state)),
                     .why = row.why,
                     .started_at = row.started_at,
                     .finished_at = row.finished_at};
}

ApprovalView view_of(const store::ApprovalRow& row) {
  return ApprovalView{.by = row.principal,
                      .decision = std::string(decision_name(row.decision)),
                      .at = row.at,
                      .reason = row.reason,
                      .valid = row.void_reason.empty(),
                      .void_reason = row.void_reason,
                      .overrides = row.overrides};
}

void fill_judgement(const gates::Judgement& judgement, TaskView& view) {
  view.gates = judgement.gates;
  view.reason = judgement.reason;
  view.next_step = judgement.next_step;
  if (judgement.assurance)
    view.assurance = std::string(tasks::assurance_name(*judgement.assurance));
  for (const tasks::GateName& gate : judgement.asks) view.asks.push_back(gate.str());
}

void fill_change(const store::TaskRow& task, TaskView& view) {
  view.guarded = task.change.guarded;
  view.base_commit = task.change.base.hex();
  view.base_tree = task.change.base_tree.hex();
  view.candidate_commit = task.change.candidate.hex();
  view.candidate_tree = task.change.tree.hex();
  view.diff_digest = task.change.diff.digest;
}

}  // namespace

os::Result<tasks::Policy> PolicyCache::get(const std::string& sha256) {
  auto known = known_.with([&](auto& policies) -> std::optional<tasks::Policy> {
    const auto found = policies.find(sha256);
    if (found == policies.end()) return std::nullopt;
    return found->second;
  });
  if (known) return std::move(*known);
  tasks::Policy policy = TRY(tasks::policy_from_json(TRY(folder_.get(sha256, kPolicyJsonLimit))));
  known_.with([&](auto& policies) {
    if (policies.size() >= kMost) policies.clear();
    policies.insert_or_assign(sha256, policy);
  });
  return policy;
}

std::string etag_of(const store::TaskRow& task) {
  return os::sha256(std::string(task_state_name(task.state)) + "\n" + task.verdict + "\n" +
                    task.change.candidate.hex() + "\n" + task.policy_sha256 + "\n" +
                    task.evidence_sha256)
      .hex()
      .substr(0, 32);
}

os::Result<TaskView> make_task_view(store::Database& database, const store::TaskRow& task,
                                    const tasks::Policy* policy) {
  TaskView view;
  view.id = task.id;
  view.project = task.project;
  view.title = task.title;
  view.intent = task.intent;
  view.claims = task.claims;
  view.state = task.state;
  view.verdict = task.verdict;
  view.failure_class = task.failure_class;
  view.policy_sha256 = task.policy_sha256;
  view.evidence_sha256 = task.evidence_sha256;
  view.sandbox_level = task.level;
  view.approvals_needed = task.approvals_needed;
  view.owners_needed = task.owners_needed;
  view.principal = task.principal;
  view.priority = task.priority;
  view.family = task.family;
  view.created_at = task.created_at;
  view.updated_at = task.updated_at;
  view.etag = etag_of(task);
  fill_change(task, view);
  if (!task.judgement.empty())
    fill_judgement(TRY(gates::judgement_from_json(task.judgement)), view);
  view.reason_code = task.reason_code;
  // What ended the task after or without a judgement is said first.
  if (!task.reason.empty()) {
    view.reason = {};
    view.reason.text = task.reason;
  }
  if (!task.next_step.empty()) view.next_step = task.next_step;
  const bool may_be_overridden =
      task.state != TaskState::promoting && policy != nullptr && task.override_until > now_text();
  if (may_be_overridden && !task.judgement.empty())
    view.overridable =
        approval_need(*policy, task.change.guarded, TRY(gates::judgement_from_json(task.judgement)))
            .overrides;
  view.steps = task.steps;
  if (policy != nullptr && task.steps.empty()) {
    for (const tasks::Step& step : policy->steps) view.steps.push_back(step.name.str());
  }
  for (const auto& row : TRY(store::attempts_of(database, task.id)))
    view.attempts.push_back(view_of(row));
  for (const auto& row : TRY(store::approvals_of(database, task.id)))
    view.approvals.push_back(view_of(row));
  const auto promotion = TRY(store::find_promotion(database, task.id));
  if (promotion && promotion->state == store::PromotionState::done)
    view.promotion = PromotionView{.target = promotion->target,
                                   .old_commit = promotion->old_commit,
                                   .new_commit = promotion->new_commit,
                                   .at = promotion->at,
                                   .receipt = promotion->receipt};
  return view;
}

}  // namespace runner
