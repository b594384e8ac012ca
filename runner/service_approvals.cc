// Approvals: a reviewer's decision on a diff.
#include <algorithm>

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

Answer<void> check_request(const store::TaskRow& task, const ApprovalRequest& request,
                           const std::vector<std::string>& asks) {
  if (task.state != TaskState::awaiting_approval)
    return refuse(
        "wrong_state",
        "the task is " + std::string(task_state_name(task.state)) + ", it waits for no decision",
        "look at the task");
  if (request.commit.empty())
    return refuse_field("/commit", "a decision names the commit that it is about");
  if (request.reason.size() > kReasonLimit)
    return refuse_field("/reason", "a reason has at most 4000 bytes");
  ASK(check_seen(task, request));
  if (request.decision == Decision::refuse) {
    if (request.reason.empty())
      return refuse_field("/reason", "a refusal says why: it is what the author learns from");
    return {};
  }
  for (const std::string& gate : request.gates) {
    if (std::ranges::find(asks, gate) == asks.end())
      return refuse_field("/gates", "gate '" + gate + "' asks for no decision");
  }
  for (const std::string& ask : asks) {
    if (std::ranges::find(request.gates, ask) == request.gates.end())
      return refuse_field(
          "/gates", "gate '" + ask + "' is inconclusive: an approval has to name it in gates");
  }
  return {};
}

std::vector<std::string> asks_of(const gates::Judgement& judgement) {
  std::vector<std::string> asks;
  for (const tasks::GateName& gate : judgement.asks) asks.push_back(gate.str());
  return asks;
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
  row.candidate_commit = task.change.candidate.hex();
  row.diff_digest = task.change.diff.digest;
  row.policy_sha256 = task.policy_sha256;
  row.at = now_text();
  return row;
}

store::EventRow event_of(const store::TaskRow& task, const store::ApprovalRow& row) {
  return {.id = 0,
          .task = task.id,
          .project = task.project,
          .type = "approval.given",
          .at = row.at,
          .data = store::object_json({{"by", row.principal}, {"commit", row.candidate_commit}})};
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
    if (const auto fits = check_request(task, request, asks_of(judgement)); !fits)
      return stop(fits.error());
    store::ApprovalRow row = approval_of(actor, task, request);
    row.chain = TRY(store::chain_root(database, actor.principal.name));
    const std::string author = TRY(store::chain_root(database, task.principal));
    const bool may_approve_own = policy.promotion.self_owner && row.is_owner;
    if (row.chain == author && request.decision == Decision::approve && !may_approve_own)
      return stop(refuse("self_approval", "nobody approves what their own owner chain authored",
                         "ask another reviewer")
                      .error());
    row.binding = make_approval_binding(task, project.project, row);
    TRY(store::insert_approval(database, row));
    if (request.decision == Decision::refuse) return refuse_task(database, task, row);
    TRY(store::append_event(database, event_of(task, row)));
    const ApprovalNeed need = approval_need(policy, task.change.guarded, judgement);
    const auto counting = counting_approvals(
        TRY(store::approvals_of(database, id)),
        {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256}, need.asks);
    if (!suffices(need, counting)) return {};
    return store::move_task(database, task, TaskState::promoting);
  });
  if (!refusal.problem.empty()) return std::unexpected(refusal);
  ASK(done);
  return task(actor, id);
}

}  // namespace runner
