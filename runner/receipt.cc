#include "runner/receipt.h"

#include <nlohmann/json.hpp>

#include "gates/verdict.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

json gates_of(const std::string& judgement_json, json& assurance) {
  json gates = json::array();
  const auto judgement = gates::judgement_from_json(judgement_json);
  if (!judgement) return gates;
  if (judgement->assurance) assurance = tasks::assurance_name(*judgement->assurance);
  for (const gates::GateResult& gate : judgement->gates) {
    gates.push_back({{"name", gate.name.str()},
                     {"kind", tasks::gate_kind_name(gate.kind)},
                     {"status", gates::gate_status_name(gate.status)},
                     {"assurance", tasks::assurance_name(gate.assurance)},
                     {"summary", gate.summary}});
  }
  return gates;
}

json approvals_of(const std::vector<store::ApprovalRow>& rows) {
  json approvals = json::array();
  for (const store::ApprovalRow& row : rows) {
    approvals.push_back({{"by", row.principal},
                         {"chain", row.chain},
                         {"owner", row.is_owner},
                         {"at", row.at},
                         {"commit", row.candidate_commit},
                         {"diff_digest", row.diff_digest},
                         {"policy_sha256", row.policy_sha256},
                         {"gates", row.gates},
                         {"overrides", row.overrides},
                         {"reason", row.reason}});
  }
  return approvals;
}

}  // namespace

std::string make_receipt(const ReceiptFacts& facts) {
  const store::TaskRow& task = facts.task;
  json assurance = nullptr;
  json gates = gates_of(task.judgement, assurance);
  const json receipt{
      {"schema", 1},
      {"task", task.id},
      {"project", task.project},
      {"target", facts.project.target},
      {"authority", facts.project.authority == Authority::remote ? "remote" : "local"},
      {"old", facts.old_commit},
      {"new", facts.new_commit},
      {"tree", task.change.tree.hex()},
      {"diff_digest", task.change.diff.digest},
      {"policy_sha256", task.policy_sha256},
      {"evidence_sha256", task.evidence_sha256},
      {"attempt", task.attempt},
      {"fence", task.fence},
      {"verdict", task.verdict},
      {"assurance", assurance},
      {"gates", std::move(gates)},
      {"guarded", task.change.guarded},
      {"approvals", approvals_of(facts.approvals)},
      {"overridden", facts.overridden},
      {"self_approved", facts.self_approved},
      {"read_back", {{"commit", facts.read_back_commit}, {"tree", facts.read_back_tree}}},
      {"sandbox_level", task.level},
      {"principal", task.principal},
      {"at", facts.at}};
  return sandbox::dump_json(receipt);
}

std::string make_approval_binding(const store::TaskRow& task, const Project& project,
                                  const store::ApprovalRow& approval) {
  return sandbox::dump_json(json{{"schema", 1},
                                 {"project", project.name},
                                 {"target", project.target},
                                 {"commit", task.change.candidate.hex()},
                                 {"tree", task.change.tree.hex()},
                                 {"diff_digest", task.change.diff.digest},
                                 {"policy_sha256", task.policy_sha256},
                                 {"guarded", task.change.guarded},
                                 {"claims",
                                  {{"text", task.claims.text},
                                   {"fixes", task.claims.fixes},
                                   {"removes", task.claims.removes},
                                   {"faster", task.claims.faster}}},
                                 {"gates", approval.gates},
                                 {"overrides", approval.overrides},
                                 {"decision", decision_name(approval.decision)},
                                 {"reviewer", approval.principal}});
}

}  // namespace runner
