// Approvals: a reviewer's decision on a diff.
#include <algorithm>

#include "runner/attest/audit_chain.h"
#include "runner/clock.h"
#include "runner/promotion/approval_rules.h"
#include "runner/receipt.h"
#include "runner/scheduler/conclusion.h"
#include "runner/service_core.h"
#include "runner/store/approvals.h"
#include "runner/store/events.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/record_json.h"
#include "runner/store/tasks.h"
#include "sandbox/os/digest.h"

namespace runner {
namespace {

constexpr std::size_t kReasonLimit = 4000;

Answer<void> check_role(const Actor& actor, const store::TaskRow& task) {
  if (actor.has(Role::admin, task.project))
    return refuse("forbidden", "an administrator configures and mints tokens, and decides nothing",
                  "ask a reviewer");
  if (!may_decide(actor, task.project))
    return refuse("forbidden", "deciding needs the role reviewer or owner on " + task.project,
                  "ask an administrator for the role");
  return {};
}

// What the reviewer saw is what there is.
Answer<void> check_seen(const store::TaskRow& task, const ApprovalRequest& request) {
  const bool is_same =
      (request.if_match.empty() || request.if_match == etag_of(task)) &&
      request.commit == task.change.candidate.hex() &&
      (request.diff_digest.empty() || request.diff_digest == task.change.diff.digest);
  if (!is_same)
    return refuse(
        "etag_mismatch",
        "the task is not what you saw any more: its candidate is " + task.change.candidate.hex(),
        "look at it again, then decide");
  return {};
}

Answer<void> check_waiting(const store::TaskRow& task) {
  if (task.state == TaskState::awaiting_approval) return {};
  return refuse(
      "wrong_state",
      "the task is " + std::string(task_state_name(task.state)) + ", it waits for no decision",
      "look at the task");
}

// The gates named are all that are in the way, so that nobody overrides what was not looked at.
Answer<void> check_overrides(const std::vector<std::string>& named,
                             const std::vector<std::string>& needed) {
  for (const std::string& gate : named) {
    if (std::ranges::find(needed, gate) == needed.end())
      return refuse_field("/overrides", "gate '" + gate + "' is not in the change's way");
  }
  for (const std::string& gate : needed) {
    if (std::ranges::find(named, gate) == named.end())
      return refuse_field("/overrides", "gate '" + gate + "' did not pass either: name it too");
  }
  return {};
}

Answer<void> check_override(const Actor& actor, const store::TaskRow& task,
                            const ApprovalRequest& request, const ApprovalNeed& need) {
  if (request.decision != Decision::approve)
    return refuse_field("/overrides", "only an approval overrides a gate");
  if (!actor.has(Role::owner, task.project))
    return refuse("forbidden", "overriding a gate needs the role owner on " + task.project,
                  "ask two owners");
  if (request.reason.empty())
    return refuse_field("/reason", "an override says why: the receipt shows it");
  ASK(check_overrides(request.overrides, need.overrides));
  if (task.override_until.empty())
    return refuse("wrong_state", "the policy lets nobody override a gate of this task",
                  "an owner may set promotion.override: owners for tasks to come");
  if (task.override_until <= now_text())
    return refuse("wrong_state",
                  "the time to override this task's gates ended at " + task.override_until,
                  "submit the change again");
  return task.state == TaskState::done ? Answer<void>() : check_waiting(task);
}

Answer<void> check_gates(const ApprovalRequest& request, const ApprovalNeed& need) {
  for (const std::string& gate : request.gates) {
    if (std::ranges::find(need.asks, gate) == need.asks.end())
      return refuse_field("/gates", "gate '" + gate + "' asks for no decision");
  }
  for (const std::string& ask : need.asks) {
    if (std::ranges::find(request.gates, ask) == request.gates.end())
      return refuse_field(
          "/gates", "gate '" + ask + "' is inconclusive: an approval has to name it in gates");
  }
  return {};
}

Answer<void> check_request(const Actor& actor, const store::TaskRow& task,
                           const ApprovalRequest& request, const ApprovalNeed& need) {
  if (request.overrides.empty()) ASK(check_waiting(task));
  if (request.commit.empty())
    return refuse_field("/commit", "a decision names the commit that it is about");
  if (request.reason.size() > kReasonLimit)
    return refuse_field("/reason", "a reason has at most 4000 bytes");
  ASK(check_seen(task, request));
  if (!request.overrides.empty()) return check_override(actor, task, request, need);
  switch (request.decision) {
    case Decision::refuse:
      if (request.reason.empty())
        return refuse_field("/reason", "a refusal says why: it is what the author learns from");
      return {};
    case Decision::abstain:
      return {};
    case Decision::approve:
      return check_gates(request, need);
  }
  return {};
}

os::Result<void> refuse_task(store::Database& database, store::TaskRow& task,
                             const store::ApprovalRow& row) {
  conclude_review(task, "refused", "refused by " + row.principal + ": " + row.reason,
                  "answer the reviewer's reason in a new change");
  return store::move_task(database, task, TaskState::done,
                          store::object_json({{"verdict", task.verdict},
                                              {"class", task.failure_class},
                                              {"by", row.principal},
                                              {"reason", row.reason}}));
}

// The decision as a row, without chain and binding.
store::ApprovalRow approval_of(const Actor& actor, const store::TaskRow& task,
                               const ApprovalRequest& request) {
  store::ApprovalRow row;
  row.task = task.id;
  row.principal = actor.principal.name;
  row.is_owner = actor.has(Role::owner, task.project);
  row.decision = request.decision;
  row.reason = request.reason;
  row.gates = request.gates;
  row.overrides = request.overrides;
  row.candidate_commit = task.change.candidate.hex();
  row.diff_digest = task.change.diff.digest;
  row.policy_sha256 = task.policy_sha256;
  row.at = now_text();
  return row;
}

std::string event_type(const store::ApprovalRow& row) {
  if (!row.overrides.empty()) return "gate.overridden";
  switch (row.decision) {
    case Decision::approve:
      return "approval.given";
    case Decision::refuse:
      return "approval.refused";
    case Decision::abstain:
      return "approval.abstained";
  }
  return "approval.abstained";
}

store::EventRow event_of(const store::TaskRow& task, const store::ApprovalRow& row) {
  return {.id = 0,
          .task = task.id,
          .project = task.project,
          .type = event_type(row),
          .at = row.at,
          .data = store::object_json({{"by", row.principal}, {"commit", row.candidate_commit}})};
}

AuditEvent audit_of(const Actor& actor, const store::TaskRow& task, const store::ApprovalRow& row) {
  return {.type = event_type(row),
          .actor = row.principal,
          .project = task.project,
          .subject = task.id,
          .data = {{"token", actor.token},
                   {"commit", row.candidate_commit},
                   {"overrides", store::strings_to_json(row.overrides)},
                   {"reason", row.reason},
                   {"binding_sha256", os::sha256(row.binding).hex()}}};
}

// Who decides, as one of the people behind it. A reviewer or a token that the author's own chain
// minted is the author.
os::Result<std::string> person_of(store::Database& database, const Actor& actor,
                                  const std::string& author) {
  std::vector<std::string> roots = TRY(store::roots_behind(database, actor.principal.name));
  if (!actor.minted_by.empty()) roots.push_back(TRY(store::chain_root(database, actor.minted_by)));
  return std::ranges::find(roots, author) != roots.end() ? author : roots.front();
}

// What a decision leads to, once it is stored.
os::Result<void> act_on(store::Database& database, store::TaskRow& task,
                        const store::ApprovalRow& row, const ApprovalNeed& need) {
  if (row.decision == Decision::refuse) return refuse_task(database, task, row);
  TRY(store::append_event(database, event_of(task, row)));
  if (task.state == TaskState::done) {
    task.approvals_needed = need.approvals;
    task.owners_needed = need.owners;
    task.next_step = "another owner has to override the same gates, or refuse the change";
    TRY(store::move_task(database, task, TaskState::awaiting_approval,
                         store::object_json({{"why", "an owner overrides a gate"}})));
  }
  const auto counting = counting_approvals(
      TRY(store::approvals_of(database, task.id)),
      {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256}, need.asks);
  if (!suffices(need, counting)) return {};
  task.next_step = "nothing: it is being landed";
  return store::move_task(database, task, TaskState::promoting);
}

}  // namespace

Answer<TaskView> ServiceCore::decide(const Actor& actor, const std::string& id,
                                     const ApprovalRequest& request) {
  const store::TaskRow seen = ASK(visible_task(actor, id));
  ASK(check_role(actor, seen));
  const tasks::Policy policy = ASK(policies_.get(seen.policy_sha256));
  const store::ProjectRow project = ASK(visible_project(actor, seen.project));
  ServiceError refusal;
  const os::Result<void> done = store_->write([&](store::Database& database) -> os::Result<void> {
    const auto stop = [&](ServiceError error) {
      refusal = std::move(error);
      return os::fail(os::Code::conflict, "refused");
    };
    store::TaskRow task = TRY(store::get_task(database, id));
    gates::Judgement judgement;
    if (!task.judgement.empty()) judgement = TRY(gates::judgement_from_json(task.judgement));
    const ApprovalNeed need = approval_need(policy, task.change.guarded, judgement);
    if (const auto fits = check_request(actor, task, request, need); !fits)
      return stop(fits.error());
    store::ApprovalRow row = approval_of(actor, task, request);
    const std::string author = TRY(store::chain_root(database, task.principal));
    row.chain = TRY(person_of(database, actor, author));
    const bool may_approve_own =
        policy.promotion.self_owner && row.is_owner && row.overrides.empty();
    if (row.chain == author && request.decision == Decision::approve && !may_approve_own)
      return stop(refuse("self_approval", "nobody approves what their own owner chain authored",
                         "ask another reviewer")
                      .error());
    row.binding = make_approval_binding(task, project.project, row);
    TRY(store::insert_approval(database, row));
    TRY(audit_.append(database, audit_of(actor, task, row)));
    return act_on(database, task, row, need);
  });
  if (!refusal.problem.empty()) return std::unexpected(refusal);
  ASK(done);
  return task(actor, id);
}

}  // namespace runner
