#include "runner/scheduler/conclusion.h"

#include "runner/clock.h"
#include "runner/promotion/approval_rules.h"

namespace runner {

TaskState conclude_judged(store::TaskRow& task, const tasks::Policy& policy,
                          const gates::Judgement& judgement,
                          const std::vector<store::ApprovalRow>& given) {
  task.judgement = gates::judgement_to_json(judgement);
  task.verdict = gates::verdict_name(judgement.verdict);
  task.failure_class = judgement.failure == gates::FailureClass::none
                           ? std::string()
                           : std::string(gates::failure_class_name(judgement.failure));
  task.reason_code = task.failure_class.empty() ? task.verdict : task.failure_class;
  task.reason.clear();
  task.next_step.clear();
  task.approvals_needed = 0;
  task.owners_needed = 0;
  task.override_until.clear();
  if (task.intent != tasks::Intent::promote) return TaskState::done;
  const ApprovalNeed need = approval_need(policy, task.change.guarded, judgement);
  const bool may_be_overridden = policy.promotion.override_owners && !need.overrides.empty();
  if (may_be_overridden) task.override_until = time_text_after(kOverrideWindow);
  if (!can_land(judgement) && !may_be_overridden) return TaskState::done;
  if (can_land(judgement)) {
    task.approvals_needed = need.approvals;
    task.owners_needed = need.owners;
  }
  if (need.is_nothing()) return TaskState::promoting;
  const auto counting = counting_approvals(
      given, {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256},
      need.asks);
  if (suffices(need, counting)) return TaskState::promoting;
  return can_land(judgement) ? TaskState::awaiting_approval : TaskState::done;
}

TaskState conclude_fault(store::TaskRow& task, const std::string& detail, Retry retry) {
  ++task.infra_faults;
  if (retry == Retry::allowed && task.infra_faults <= kMaxInfraFaults) {
    task.attempt_why = "infra";
    task.reason_code = "infra";
    task.reason = detail;
    task.next_step = "nothing: it is tried again";
    return TaskState::queued;
  }
  task.verdict = gates::verdict_name(gates::Verdict::error);
  task.failure_class = gates::failure_class_name(gates::FailureClass::infra);
  task.judgement.clear();
  task.reason_code = "infra";
  task.reason = detail;
  task.next_step = "ask the operator to look at the machine, then submit the change again";
  return TaskState::done;
}

TaskState conclude_stopped(store::TaskRow& task, const std::string& stop_reason) {
  if (stop_reason == "cancel") {
    conclude_cancelled(task);
    return TaskState::done;
  }
  task.verdict = gates::verdict_name(gates::Verdict::rejected);
  task.failure_class = gates::failure_class_name(gates::FailureClass::limit);
  task.judgement.clear();
  task.reason_code = "limit";
  task.reason = "the attempt took longer than limits.total of the policy (" +
                std::to_string(task.total_ms / 1000) + " s)";
  task.next_step = "make the steps faster, or ask an owner for a larger limits.total";
  return TaskState::done;
}

void conclude_review(store::TaskRow& task, const std::string& code, const std::string& reason,
                     const std::string& next_step) {
  task.verdict = gates::verdict_name(gates::Verdict::rejected);
  task.failure_class = gates::failure_class_name(gates::FailureClass::review);
  task.reason_code = code;
  task.reason = reason;
  task.next_step = next_step;
}

void conclude_cancelled(store::TaskRow& task) {
  task.verdict = "cancelled";
  task.failure_class.clear();
  task.reason_code = "cancelled";
  task.reason = task.cancel_by.empty() ? "cancelled" : "cancelled by " + task.cancel_by;
  task.next_step = "submit the change again to have it judged";
}

}  // namespace runner
