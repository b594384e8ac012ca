#include "runner/wire.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "sandbox/gpu/desk.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

json text_or_null(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json reason_json(const TaskView& task) {
  if (task.reason.text.empty() && task.reason_code.empty()) return nullptr;
  return {{"code", task.reason_code},       {"text", task.reason.text},
          {"where", task.reason.where},     {"evidence", task.reason.evidence},
          {"figures", task.reason.figures}, {"next_step", task.next_step}};
}

json gate_json(const gates::GateResult& gate) {
  json reasons = json::array();
  for (const gates::Reason& reason : gate.reasons)
    reasons.push_back({{"text", reason.text},
                       {"where", reason.where},
                       {"evidence", reason.evidence},
                       {"figures", reason.figures}});
  return {{"name", gate.name.str()},
          {"kind", tasks::gate_kind_name(gate.kind)},
          {"status", gates::gate_status_name(gate.status)},
          {"class", gate.failure == gates::FailureClass::none
                        ? json(nullptr)
                        : json(gates::failure_class_name(gate.failure))},
          {"assurance", tasks::assurance_name(gate.assurance)},
          {"summary", gate.summary},
          {"reasons", reasons}};
}

json approvals_json(const TaskView& task) {
  json given = json::array();
  int valid = 0;
  for (const ApprovalView& approval : task.approvals) {
    if (approval.valid && approval.decision == "approve") ++valid;
    given.push_back({{"by", approval.by},
                     {"decision", approval.decision},
                     {"at", approval.at},
                     {"reason", approval.reason},
                     {"valid", approval.valid},
                     {"void_reason", text_or_null(approval.void_reason)},
                     {"overrides", approval.overrides}});
  }
  return {{"needed", task.approvals_needed},
          {"owners_needed", task.owners_needed},
          {"valid", valid},
          {"given", given}};
}

json promotion_json(const TaskView& task) {
  if (!task.promotion) return nullptr;
  const json receipt = json::parse(task.promotion->receipt, nullptr, false);
  return {{"target", task.promotion->target},
          {"old", task.promotion->old_commit},
          {"new", task.promotion->new_commit},
          {"at", task.promotion->at},
          {"receipt", receipt.is_discarded() ? json(nullptr) : receipt}};
}

json links_json(const TaskView& task) {
  const std::string self = "/v1/tasks/" + task.id;
  json logs = json::object();
  for (const std::string& step : task.steps) logs[step] = self + "/logs/" + step;
  return {{"self", self},           {"events", self + "/events"}, {"report", self + "/report.md"},
          {"diff", self + "/diff"}, {"why", self + "/why"},       {"logs", logs}};
}

json task_json(const TaskView& task) {
  json gates = json::array();
  for (const gates::GateResult& gate : task.gates) gates.push_back(gate_json(gate));
  json attempts = json::array();
  for (const AttemptView& attempt : task.attempts)
    attempts.push_back({{"id", attempt.id},
                        {"fence", attempt.fence},
                        {"state", attempt.state},
                        {"why", attempt.why},
                        {"started_at", text_or_null(attempt.started_at)},
                        {"finished_at", text_or_null(attempt.finished_at)}});
  return {{"schema", 1},
          {"id", task.id},
          {"project", task.project},
          {"title", task.title},
          {"intent", tasks::intent_name(task.intent)},
          {"claims",
           {{"text", task.claims.text},
            {"fixes", task.claims.fixes},
            {"removes", task.claims.removes},
            {"faster", task.claims.faster}}},
          {"guarded", task.guarded},
          {"assurance", task.assurance ? json(*task.assurance) : json(nullptr)},
          {"state", task_state_name(task.state)},
          {"verdict", text_or_null(task.verdict)},
          {"failure_class", text_or_null(task.failure_class)},
          {"reason", reason_json(task)},
          {"base", {{"commit", task.base_commit}, {"tree", task.base_tree}}},
          {"candidate", {{"commit", task.candidate_commit}, {"tree", task.candidate_tree}}},
          {"diff_digest", task.diff_digest},
          {"policy_sha256", task.policy_sha256},
          {"evidence_sha256", text_or_null(task.evidence_sha256)},
          {"sandbox_level", text_or_null(task.sandbox_level)},
          {"gates", gates},
          {"attempts", attempts},
          {"approvals", approvals_json(task)},
          {"asks", task.asks},
          {"overridable", task.overridable},
          {"promotion", promotion_json(task)},
          {"principal", task.principal},
          {"priority", task.priority},
          {"family", text_or_null(task.family)},
          {"created_at", task.created_at},
          {"updated_at", task.updated_at},
          {"etag", task.etag},
          {"links", links_json(task)}};
}

json project_json(const Project& project) {
  return {{"name", project.name},
          {"repository", project.repository},
          {"url", text_or_null(project.url)},
          {"target", project.target},
          {"authority", project.authority == Authority::local ? "local" : "remote"},
          {"holds_policy", project.holds_policy},
          {"frozen", text_or_null(project.frozen)}};
}

}  // namespace

std::string to_wire(const TaskView& task) { return sandbox::dump_json(task_json(task)); }

std::string to_wire(const std::vector<TaskView>& tasks, const std::string& next_cursor) {
  json list = json::array();
  for (const TaskView& task : tasks) list.push_back(task_json(task));
  return sandbox::dump_json({{"tasks", list}, {"next", text_or_null(next_cursor)}});
}

std::string to_wire(const Project& project) { return sandbox::dump_json(project_json(project)); }

std::string to_wire(const std::vector<Project>& projects) {
  json list = json::array();
  for (const Project& project : projects) list.push_back(project_json(project));
  return sandbox::dump_json({{"projects", list}});
}

std::string to_wire(const Why& why) {
  return sandbox::dump_json(
      {{"state", why.state}, {"text", why.text}, {"next_step", why.next_step}});
}

std::string to_wire(const MachineView& machine) {
  return sandbox::dump_json({{"machines", json::array({{{"host", machine.host},
                                                        {"level", machine.level},
                                                        {"cpus", machine.cpus},
                                                        {"cpus_free", machine.cpus_free},
                                                        {"memory", machine.memory},
                                                        {"memory_free", machine.memory_free},
                                                        {"queued", machine.queued},
                                                        {"running", machine.running}}})}});
}

std::string to_wire(const IssuedToken& token) {
  return sandbox::dump_json(
      {{"token", token.token}, {"id", token.id}, {"expires_at", token.expires_at}});
}

std::string to_wire(const LoginCode& code) {
  return sandbox::dump_json({{"code", code.code}, {"expires_at", code.expires_at}});
}

std::string to_wire(const std::vector<TokenView>& tokens) {
  json list = json::array();
  for (const TokenView& token : tokens)
    list.push_back({{"id", token.id},
                    {"principal", token.principal},
                    {"minted_by", text_or_null(token.minted_by)},
                    {"created_at", token.created_at},
                    {"expires_at", token.expires_at},
                    {"revoked_at", text_or_null(token.revoked_at)},
                    {"last_used_at", text_or_null(token.last_used_at)}});
  return sandbox::dump_json({{"tokens", list}});
}

std::string to_wire(const PublicKeyView& key) {
  return sandbox::dump_json(
      {{"keys", json::array({{{"keyid", key.id}, {"algorithm", "ed25519"}, {"pem", key.pem}}})}});
}

std::string to_wire(const Backtest& backtest) {
  json rows = json::array();
  for (const BacktestRow& row : backtest.rows)
    rows.push_back({{"task", row.task},
                    {"title", row.title},
                    {"was", row.was},
                    {"now", text_or_null(row.now)},
                    {"flips", row.flips()},
                    {"gate", text_or_null(row.gate)},
                    {"words", row.words}});
  return sandbox::dump_json({{"policy_sha256", backtest.policy_sha256}, {"tasks", rows}});
}

std::string to_wire(const sandbox::gpu::GpuStatus& gpu) {
  return sandbox::dump_json(sandbox::gpu::to_json(gpu));
}

std::string to_wire(const std::vector<sandbox::gpu::GpuStatus>& gpus) {
  json list = json::array();
  for (const sandbox::gpu::GpuStatus& gpu : gpus) list.push_back(sandbox::gpu::to_json(gpu));
  return sandbox::dump_json({{"gpus", std::move(list)}});
}

std::string to_wire(const Readiness& readiness) {
  return sandbox::dump_json({{"ready", readiness.ready}, {"problems", readiness.problems}});
}

std::string problem_to_wire(const ServiceError& error, int status) {
  json object{{"type", "https://proofhouse.invalid/problems/" + error.problem},
              {"title", error.problem},
              {"status", status},
              {"code", error.problem},
              {"detail", error.detail},
              {"next_step", error.next_step},
              {"retryable", error.retryable}};
  if (!error.pointer.empty())
    object["errors"] = json::array({{{"pointer", error.pointer}, {"detail", error.detail}}});
  for (const auto& [name, value] : error.extra)
    if (!object.contains(name)) object[name] = value;
  return sandbox::dump_json(object);
}

int status_of(const ServiceError& error) {
  struct Row {
    std::string_view problem;
    int status;
  };
  static constexpr std::array kTable{Row{"bad_json", 400},
                                     Row{"bad_request", 400},
                                     Row{"unauthorized", 401},
                                     Row{"forbidden", 403},
                                     Row{"self_approval", 403},
                                     Row{"not_found", 404},
                                     Row{"method_not_allowed", 405},
                                     Row{"stale_base", 409},
                                     Row{"wrong_state", 409},
                                     Row{"project_frozen", 409},
                                     Row{"conflict", 409},
                                     Row{"already_exists", 409},
                                     Row{"length_required", 411},
                                     Row{"etag_mismatch", 412},
                                     Row{"too_large", 413},
                                     Row{"invalid_field", 422},
                                     Row{"idempotency_key_reused", 422},
                                     Row{"policy_missing", 422},
                                     Row{"policy_invalid", 422},
                                     Row{"unsatisfiable", 422},
                                     Row{"commit_not_found", 422},
                                     Row{"patch_conflict", 422},
                                     Row{"invalid_path", 422},
                                     Row{"invalid_mode", 422},
                                     Row{"not_descendant", 422},
                                     Row{"rebase_conflict", 422},
                                     Row{"empty_change", 422},
                                     Row{"invalid_patch", 422},
                                     Row{"invalid_commit", 422},
                                     Row{"invalid_pack", 422},
                                     Row{"unsupported", 422},
                                     Row{"refused", 422},
                                     Row{"if_match_missing", 428},
                                     Row{"rate_limited", 429},
                                     Row{"queue_full", 503},
                                     Row{"sandbox_unavailable", 503},
                                     Row{"draining", 503},
                                     Row{"disk_full", 503},
                                     Row{"unavailable", 503},
                                     Row{"internal", 500}};
  const auto* const found = std::ranges::find(kTable, error.problem, &Row::problem);
  if (found != kTable.end()) return found->status;
  // A refusal of ingest that the table does not name is still the change's.
  return error.extra.contains("refusal") ? 422 : 500;
}

}  // namespace runner
