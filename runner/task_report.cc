#include "runner/task_report.h"

#include <nlohmann/json.hpp>

#include "sandbox/gpu/desk.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

json reason_of(const gates::Reason& reason) {
  return {{"text", reason.text},
          {"where", reason.where},
          {"evidence", reason.evidence},
          {"figures", reason.figures}};
}

json gate_of(const gates::GateResult& gate) {
  json reasons = json::array();
  for (const gates::Reason& reason : gate.reasons) reasons.push_back(reason_of(reason));
  return {{"name", gate.name.str()},
          {"kind", tasks::gate_kind_name(gate.kind)},
          {"status", gates::gate_status_name(gate.status)},
          {"failure", gates::failure_class_name(gate.failure)},
          {"assurance", tasks::assurance_name(gate.assurance)},
          {"summary", gate.summary},
          {"reasons", std::move(reasons)}};
}

json run_of(const tasks::RunRecord& run) {
  json value{{"id", run.id},
             {"step", run.key.step.str()},
             {"side", tasks::side_name(run.key.side)},
             {"of", tasks::side_name(run.key.of)},
             {"pair", run.key.pair ? json(*run.key.pair) : json(nullptr)},
             {"leg", run.key.leg ? json(*run.key.leg) : json(nullptr)},
             {"rerun", run.key.rerun ? json(*run.key.rerun) : json(nullptr)},
             {"carried", run.carried},
             {"outcome", sandbox::to_json(run.outcome)},
             {"limits_hit", sandbox::to_json(run.limits_hit)},
             {"usage", sandbox::to_json(run.usage)},
             {"log_bytes", run.log.bytes},
             {"log_omitted", run.log.omitted},
             {"level", run.level},
             {"gaps", run.gaps}};
  json reports = json::array();
  for (const tasks::ReportRecord& report : run.reports)
    reports.push_back({{"format", tasks::report_format_name(report.format)},
                       {"path", report.path},
                       {"error", report.error},
                       {"sha256", report.raw_sha256},
                       {"parsed_sha256", report.parsed_sha256}});
  value["reports"] = std::move(reports);
  if (run.gpu) {
    value["gpu"] =
        sandbox::gpu::to_json(sandbox::gpu::LeaseEnd{run.gpu->uses, run.gpu->driver, {}});
    value["gpu"].erase("fault");
    value["gpu"]["wait_ms"] = run.gpu->wait_ms;
  }
  return value;
}

json task_of(const TaskView& view) {
  return {{"id", view.id},
          {"project", view.project},
          {"title", view.title},
          {"intent", tasks::intent_name(view.intent)},
          {"claims",
           {{"text", view.claims.text},
            {"fixes", view.claims.fixes},
            {"removes", view.claims.removes},
            {"faster", view.claims.faster}}},
          {"state", task_state_name(view.state)},
          {"principal", view.principal},
          {"priority", view.priority},
          {"family", view.family},
          {"base", {{"commit", view.base_commit}, {"tree", view.base_tree}}},
          {"candidate", {{"commit", view.candidate_commit}, {"tree", view.candidate_tree}}},
          {"diff_digest", view.diff_digest},
          {"policy_sha256", view.policy_sha256},
          {"evidence_sha256", view.evidence_sha256},
          {"guarded", view.guarded},
          {"sandbox_level", view.sandbox_level},
          {"created_at", view.created_at},
          {"updated_at", view.updated_at}};
}

json approvals_of(const TaskView& view) {
  json given = json::array();
  for (const ApprovalView& approval : view.approvals)
    given.push_back({{"by", approval.by},
                     {"decision", approval.decision},
                     {"at", approval.at},
                     {"reason", approval.reason},
                     {"valid", approval.valid},
                     {"void_reason", approval.void_reason}});
  return {{"needed", view.approvals_needed},
          {"owners_needed", view.owners_needed},
          {"asks", view.asks},
          {"given", std::move(given)}};
}

// The receipt is JSON of ours already.
json promotion_of(const TaskView& view) {
  if (!view.promotion) return nullptr;
  const os::Result<json> receipt = sandbox::parse_json(view.promotion->receipt);
  return {{"target", view.promotion->target},
          {"old", view.promotion->old_commit},
          {"new", view.promotion->new_commit},
          {"at", view.promotion->at},
          {"receipt", receipt ? *receipt : json(nullptr)}};
}

}  // namespace

std::string report_to_json(const TaskView& view, const std::optional<tasks::Evidence>& evidence) {
  json gates = json::array();
  for (const gates::GateResult& gate : view.gates) gates.push_back(gate_of(gate));
  json attempts = json::array();
  for (const AttemptView& attempt : view.attempts)
    attempts.push_back({{"id", attempt.id},
                        {"fence", attempt.fence},
                        {"state", attempt.state},
                        {"why", attempt.why},
                        {"started_at", attempt.started_at},
                        {"finished_at", attempt.finished_at}});
  json report{{"schema", 1},
              {"task", task_of(view)},
              {"verdict", view.verdict},
              {"failure_class", view.failure_class},
              {"assurance", view.assurance ? json(*view.assurance) : json(nullptr)},
              {"reason_code", view.reason_code},
              {"reason", reason_of(view.reason)},
              {"next_step", view.next_step},
              {"gates", std::move(gates)},
              {"attempts", std::move(attempts)},
              {"approvals", approvals_of(view)},
              {"promotion", promotion_of(view)},
              {"runs", json::array()},
              {"machine", nullptr}};
  if (evidence) {
    for (const tasks::RunRecord& run : evidence->runs) report["runs"].push_back(run_of(run));
    report["machine"] = {{"host", evidence->machine.host},
                         {"kernel", evidence->machine.kernel},
                         {"cpu", evidence->machine.cpu},
                         {"proofhouse", evidence->machine.proofhouse}};
  }
  return sandbox::dump_json(report);
}

}  // namespace runner
