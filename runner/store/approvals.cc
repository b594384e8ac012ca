#include "runner/store/approvals.h"

#include "runner/store/record_json.h"

namespace runner::store {
namespace {

std::string_view state_name(PromotionState state) {
  switch (state) {
    case PromotionState::moving:
      return "moving";
    case PromotionState::done:
      return "done";
    case PromotionState::failed:
      return "failed";
  }
  return "failed";
}

PromotionState state_of(std::string_view name) {
  if (name == "moving") return PromotionState::moving;
  return name == "done" ? PromotionState::done : PromotionState::failed;
}

PromotionRow read_promotion(const Statement& row) {
  return PromotionRow{.task = row.text(0),
                      .project = row.text(1),
                      .target = row.text(2),
                      .old_commit = row.text(3),
                      .new_commit = row.text(4),
                      .state = state_of(row.text(5)),
                      .receipt = row.text(6),
                      .at = row.text(7),
                      .statements = row.text(8),
                      .notes = row.text(9)};
}

}  // namespace

os::Result<void> insert_approval(Database& database, const ApprovalRow& row) {
  TRY(
      database.run("UPDATE approvals SET void_reason = 'replaced by a later decision' "
                   "WHERE task = ? AND principal = ? AND void_reason = ''",
                   {row.task, row.principal}));
  TRY(database.run(
      "INSERT INTO approvals(task, principal, chain, is_owner, decision, reason, gates, binding, "
      "candidate_commit, diff_digest, policy_sha256, overrides, void_reason, at) "
      "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?)",
      {row.task, row.principal, row.chain, std::int64_t{row.is_owner ? 1 : 0},
       decision_name(row.decision), row.reason, strings_to_json(row.gates), row.binding,
       row.candidate_commit, row.diff_digest, row.policy_sha256, strings_to_json(row.overrides),
       row.at}));
  return {};
}

os::Result<std::vector<ApprovalRow>> approvals_of(Database& database, const std::string& task) {
  Statement row = TRY(database.query(
      "SELECT id, task, principal, chain, is_owner, decision, reason, gates, binding, "
      "candidate_commit, diff_digest, policy_sha256, void_reason, at, overrides "
      "FROM approvals WHERE task = ? ORDER BY id",
      {task}));
  std::vector<ApprovalRow> approvals;
  while (TRY(row.step())) {
    approvals.push_back(ApprovalRow{.id = row.int64(0),
                                    .task = row.text(1),
                                    .principal = row.text(2),
                                    .chain = row.text(3),
                                    .is_owner = row.int64(4) != 0,
                                    .decision = TRY(parse_decision(row.text(5))),
                                    .reason = row.text(6),
                                    .gates = TRY(strings_from_json(row.text(7))),
                                    .overrides = TRY(strings_from_json(row.text(14))),
                                    .binding = row.text(8),
                                    .candidate_commit = row.text(9),
                                    .diff_digest = row.text(10),
                                    .policy_sha256 = row.text(11),
                                    .void_reason = row.text(12),
                                    .at = row.text(13)});
  }
  return approvals;
}

os::Result<std::int64_t> void_approvals(Database& database, const std::string& task,
                                        const std::string& reason) {
  return database.run("UPDATE approvals SET void_reason = ? WHERE task = ? AND void_reason = ''",
                      {reason, task});
}

os::Result<void> begin_promotion(Database& database, const PromotionRow& row) {
  const std::int64_t changed = TRY(database.run(
      "INSERT INTO promotions(task, project, target, old_commit, new_commit, state, receipt, at) "
      "VALUES(?, ?, ?, ?, ?, 'moving', '', ?) ON CONFLICT(task) DO UPDATE SET "
      "old_commit = excluded.old_commit, new_commit = excluded.new_commit, state = 'moving', "
      "at = excluded.at WHERE state <> 'done'",
      {row.task, row.project, row.target, row.old_commit, row.new_commit, row.at}));
  if (changed != 1)
    return os::fail(os::Code::conflict, "task " + row.task + " is promoted already");
  return {};
}

os::Result<std::optional<PromotionRow>> find_promotion(Database& database,
                                                       const std::string& task) {
  Statement row = TRY(
      database.query("SELECT task, project, target, old_commit, new_commit, state, receipt, at, "
                     "statements, notes FROM promotions WHERE task = ?",
                     {task}));
  if (!TRY(row.step())) return std::optional<PromotionRow>{};
  return std::optional(read_promotion(row));
}

os::Result<std::vector<PromotionRow>> promotions_with_due_notes(Database& database) {
  Statement row = TRY(
      database.query("SELECT task, project, target, old_commit, new_commit, state, receipt, at, "
                     "statements, notes FROM promotions WHERE notes = 'due' LIMIT 100"));
  std::vector<PromotionRow> promotions;
  while (TRY(row.step())) promotions.push_back(read_promotion(row));
  return promotions;
}

os::Result<void> mark_noted(Database& database, const std::string& task) {
  TRY(database.run("UPDATE promotions SET notes = 'done' WHERE task = ?", {task}));
  return {};
}

os::Result<void> end_promotion(Database& database, const PromotionRow& row) {
  const std::int64_t changed = TRY(database.run(
      "UPDATE promotions SET state = ?, receipt = ?, at = ?, statements = ?, notes = ? "
      "WHERE task = ? AND state = 'moving'",
      {state_name(row.state), row.receipt, row.at, row.statements, row.notes, row.task}));
  if (changed != 1) return os::fail(os::Code::conflict, "task " + row.task + " is not moving");
  return {};
}

}  // namespace runner::store
