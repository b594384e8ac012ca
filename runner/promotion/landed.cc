#include "runner/promotion/landed.h"

#include "gates/verdict.h"
#include "runner/attest/audit_chain.h"
#include "runner/attest/names.h"
#include "runner/clock.h"
#include "runner/evidence_copy.h"
#include "runner/limits.h"
#include "runner/promotion/approval_rules.h"
#include "runner/receipt.h"
#include "runner/scheduler/result_taker.h"
#include "runner/statements.h"
#include "runner/store/approvals.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/record_json.h"
#include "runner/store/tasks.h"
#include "sandbox/os/digest.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

// What is read before the transaction: none of it can change any more.
struct Kept {
  tasks::Policy policy;
  gates::Judgement judgement;
  tasks::Evidence evidence;
  PolicyFileId policy_file;
};

os::Result<Kept> read_kept(const ServiceContext& context, const store::TaskRow& task,
                           const Landed& landed) {
  Kept kept;
  kept.policy =
      TRY(tasks::policy_from_json(TRY(context.evidence.get(task.policy_sha256, kPolicyJsonLimit))));
  kept.judgement = TRY(gates::judgement_from_json(task.judgement));
  kept.evidence = TRY(tasks::evidence_from_json(
      TRY_CONTEXT(context.evidence.get(task.evidence_sha256, kAttemptResultLimit), "evidence")));
  TRY(load_reports(context.evidence, kept.evidence));
  if (landed.project.policy_yaml.empty())
    kept.policy_file = TRY_CONTEXT(context.git.policy_at(landed.project.project, task.change.base),
                                   "policy of the base");
  else
    kept.policy_file = {.blob = {}, .sha256 = os::sha256(landed.project.policy_yaml).hex()};
  return kept;
}

// Receipt and statements, with the approvals as they are in this transaction.
os::Result<store::PromotionRow> make_proofs(const ServiceContext& context,
                                            store::Database& database, const store::TaskRow& task,
                                            const Landed& landed, const Kept& kept) {
  const ApprovalNeed need = approval_need(kept.policy, task.change.guarded, kept.judgement);
  ReceiptFacts facts{.task = task,
                     .project = landed.project.project,
                     .old_commit = landed.old_commit,
                     .new_commit = task.change.candidate.hex(),
                     .read_back_commit = landed.read_back.commit.hex(),
                     .read_back_tree = landed.read_back.tree.hex(),
                     .approvals = {},
                     .self_approved = false,
                     .at = now_text(),
                     .overridden = need.overrides};
  facts.approvals = counting_approvals(
      TRY(store::approvals_of(database, task.id)),
      {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256}, need.asks);
  const std::string author = TRY(store::chain_root(database, task.principal));
  for (const store::ApprovalRow& approval : facts.approvals)
    facts.self_approved = facts.self_approved || approval.chain == author;
  store::PromotionRow row{.task = task.id,
                          .project = task.project,
                          .target = landed.project.project.target,
                          .old_commit = landed.old_commit,
                          .new_commit = facts.new_commit,
                          .state = store::PromotionState::done,
                          .receipt = make_receipt(facts),
                          .at = facts.at};
  row.statements = make_statements(context.notary, {.receipt = facts,
                                                    .receipt_json = row.receipt,
                                                    .evidence = kept.evidence,
                                                    .policy = kept.policy_file});
  const bool is_ours = landed.project.project.authority == Authority::local;
  if (kept.policy.promotion.notes && is_ours) row.notes = "due";
  return row;
}

// What the task says once it is there.
void tell_landed(store::TaskRow& task, const Landed& landed, const ApprovalNeed& need) {
  task.next_step =
      "nothing: it is on " + landed.project.project.target + " as " + task.change.candidate.hex();
  task.override_until.clear();
  if (need.overrides.empty()) return;
  std::string gates;
  for (const std::string& gate : need.overrides)
    gates += (gates.empty() ? "'" : ", '") + gate + "'";
  task.reason = "owners overrode " + gates + ", which did not pass";
  task.reason_code = "overridden";
  task.verdict = gates::verdict_name(gates::Verdict::accepted);
  task.failure_class.clear();
}

AuditEvent landed_audit(const store::PromotionRow& row, const store::TaskRow& task,
                        const ApprovalNeed& need) {
  return {.type = "promotion.landed",
          .actor = "serve",
          .project = row.project,
          .subject = row.task,
          .data = {{"target", row.target},
                   {"old", row.old_commit},
                   {"new", row.new_commit},
                   {"evidence", task.evidence_sha256},
                   {"overridden", store::strings_to_json(need.overrides)},
                   {"statements", os::sha256(row.statements).hex()}}};
}

}  // namespace

os::Result<std::string> objection_to_landing(const ServiceContext& context,
                                             const store::TaskRow& task) {
  const JudgedEvidence judged = TRY(judge_kept(
      context.evidence,
      TRY(tasks::evidence_from_json(TRY_CONTEXT(
          context.evidence.get(task.evidence_sha256, kAttemptResultLimit), "evidence")))));
  const tasks::Evidence& evidence = judged.evidence;
  if (evidence.task != task.id || evidence.status != tasks::AttemptStatus::completed)
    return std::string("the evidence is of another task");
  if (evidence.change.base != task.change.base ||
      evidence.change.candidate != task.change.candidate ||
      evidence.change.tree != task.change.tree ||
      evidence.change.diff.digest != task.change.diff.digest ||
      evidence.change.guarded != task.change.guarded)
    return std::string("the evidence is of another change");
  if (evidence.policy_sha256 != task.policy_sha256)
    return std::string("the evidence was made by another policy");
  // Outcomes, not words: a newer program may word a reason otherwise.
  const gates::Judgement told = TRY(gates::judgement_from_json(task.judgement));
  if (told.verdict != judged.judgement.verdict || !changed_outcome(told, judged.judgement).empty())
    return std::string("the evidence is judged otherwise than the task says");
  const ApprovalNeed need = approval_need(judged.policy, task.change.guarded, judged.judgement);
  if (!can_land(judged.judgement) && need.overrides.empty())
    return std::string("the verdict is no acceptance");
  if (!need.overrides.empty() && !judged.policy.promotion.override_owners)
    return std::string("a gate did not pass");
  std::vector<store::ApprovalRow> counting = counting_approvals(
      TRY(context.store.read(
          [&](store::Database& database) { return store::approvals_of(database, task.id); })),
      {.diff_digest = task.change.diff.digest, .policy_sha256 = task.policy_sha256}, need.asks);
  if (judged.policy.promotion.approval == tasks::ApprovalRule::exact)
    std::erase_if(counting, [&](const store::ApprovalRow& row) {
      return row.candidate_commit != task.change.candidate.hex();
    });
  if (!need.is_nothing() && !suffices(need, counting))
    return std::string("the approvals do not suffice");
  return std::string();
}

os::Result<void> conclude_landed(const ServiceContext& context, store::TaskRow& task,
                                 const Landed& landed) {
  const Kept kept = TRY(read_kept(context, task, landed));
  const ApprovalNeed need = approval_need(kept.policy, task.change.guarded, kept.judgement);
  return context.store.write([&](store::Database& database) -> os::Result<void> {
    const store::PromotionRow row = TRY(make_proofs(context, database, task, landed, kept));
    if (!TRY(store::find_promotion(database, task.id))) TRY(store::begin_promotion(database, row));
    TRY(store::end_promotion(database, row));
    tell_landed(task, landed, need);
    TRY(context.audit.append(database, landed_audit(row, task, need)));
    return store::move_task(database, task, TaskState::done,
                            store::object_json({{"verdict", "accepted"},
                                                {"target", row.target},
                                                {"old", row.old_commit},
                                                {"new", row.new_commit}}));
  });
}

os::Result<void> write_due_notes(const ServiceContext& context) {
  for (const store::PromotionRow& row : TRY(context.store.read(store::promotions_with_due_notes))) {
    const auto project = TRY(context.store.read(
        [&](store::Database& database) { return store::find_project(database, row.project); }));
    if (!project) continue;
    TRY_CONTEXT(context.git.add_note(project->project, TRY(tasks::CommitId::parse(row.new_commit)),
                                     row.statements),
                "git note of " + row.new_commit);
    TRY(context.store.write(
        [&](store::Database& database) { return store::mark_noted(database, row.task); }));
  }
  return {};
}

}  // namespace runner
