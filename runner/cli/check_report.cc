#include "runner/cli/check_report.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "runner/cli/answers.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/task_text.h"
#include "runner/task_report.h"
#include "runner/version.h"
#include "runner/wire.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"

namespace runner::cli {
namespace {

std::string word_of(gates::FailureClass failure) {
  return failure == gates::FailureClass::none ? std::string()
                                              : std::string(gates::failure_class_name(failure));
}

TaskView view_of_evidence(const tasks::Evidence& evidence) {
  TaskView view;
  view.id = "check";
  view.intent = tasks::Intent::verify;
  view.state = TaskState::done;
  view.claims = evidence.claims;
  view.guarded = evidence.change.guarded;
  view.base_commit = evidence.change.base.hex();
  view.base_tree = evidence.change.base_tree.hex();
  view.candidate_commit = evidence.change.candidate.hex();
  view.candidate_tree = evidence.change.tree.hex();
  view.diff_digest = evidence.change.diff.digest;
  view.policy_sha256 = evidence.policy_sha256;
  view.evidence_sha256 = os::sha256(tasks::evidence_to_json(evidence)).hex();
  view.created_at = evidence.started_at;
  view.updated_at = evidence.finished_at;
  view.sandbox_level = "full";
  for (const tasks::RunRecord& run : evidence.runs)
    if (run.level != "full") view.sandbox_level = run.level;
  return view;
}

CiStatus ci_status(gates::GateStatus status) {
  switch (status) {
    case gates::GateStatus::passed:
      return CiStatus::passed;
    case gates::GateStatus::failed:
      return CiStatus::failed;
    case gates::GateStatus::inconclusive:
      return CiStatus::inconclusive;
    case gates::GateStatus::not_run:
      break;
  }
  return CiStatus::not_run;
}

// The place of a test by its id, from the run that the reason rests on.
CiFinding ci_finding(const gates::Reason& reason, const tasks::Evidence& evidence) {
  CiFinding finding{reason.text, reason.where, {}, 0, false};
  for (const tasks::RunRecord& run : evidence.runs) {
    if (run.id != reason.evidence || run.carried) continue;
    for (const tasks::ReportRecord& report : run.reports) {
      const auto& cases = report.parsed.tests.cases;
      const auto test = std::ranges::find(cases, reason.where, &tasks::TestCase::id);
      if (test == cases.end() || test->file.empty()) continue;
      finding.file = test->file;
      finding.line = test->line;
    }
  }
  // A gate on the diff names the file itself.
  for (const tasks::DiffFile& file : evidence.change.diff.files)
    if (file.path == reason.where) finding.file = file.path;
  return finding;
}

std::string text_of(const TaskView& view) {
  const os::Result<TaskAnswer> task = read_task(to_wire(view));
  return task ? task_text(*task) : task.error().message;
}

}  // namespace

CiReport ci_report_of(const TaskView& view, const tasks::Evidence& evidence) {
  CiReport report;
  report.verdict = view.verdict;
  report.failure_class = view.failure_class;
  report.reason = view.reason.text;
  report.version = kVersion;
  for (const gates::GateResult& gate : view.gates) {
    CiGate out{gate.name.str(),        std::string(tasks::gate_kind_name(gate.kind)),
               ci_status(gate.status), std::string(tasks::assurance_name(gate.assurance)),
               gate.summary,           {}};
    for (const gates::Reason& reason : gate.reasons)
      out.findings.push_back(ci_finding(reason, evidence));
    report.gates.push_back(std::move(out));
  }
  return report;
}

TaskView view_of_check(const tasks::Evidence& evidence, const gates::Judgement& judgement) {
  TaskView view = view_of_evidence(evidence);
  view.verdict = gates::verdict_name(judgement.verdict);
  view.failure_class = word_of(judgement.failure);
  if (judgement.assurance) view.assurance = tasks::assurance_name(*judgement.assurance);
  view.reason = judgement.reason;
  view.reason_code = view.failure_class.empty() ? view.verdict : view.failure_class;
  view.next_step = judgement.next_step;
  view.gates = judgement.gates;
  for (const tasks::GateName& gate : judgement.asks) view.asks.push_back(gate.str());
  return view;
}

TaskView view_of_fault(const tasks::Evidence& evidence, const std::string& detail) {
  TaskView view = view_of_evidence(evidence);
  view.verdict = gates::verdict_name(gates::Verdict::error);
  view.failure_class = gates::failure_class_name(gates::FailureClass::infra);
  view.reason.text = detail;
  view.reason_code = view.failure_class;
  view.next_step = "run `proofhouse doctor`, then check again";
  return view;
}

int exit_code_of_check(const TaskView& view, const gates::Judgement& judgement) {
  const bool is_accepted = view.verdict == gates::verdict_name(gates::Verdict::accepted);
  if (judgement.waits_for_owners || (is_accepted && !view.guarded.empty())) return kExitApproval;
  return exit_code_of(TaskEnd{"done", view.verdict, view.failure_class});
}

std::string check_report(const TaskView& view, const tasks::Evidence& evidence, ReportForm form) {
  switch (form) {
    case ReportForm::json:
      return report_to_json(view, evidence);
    case ReportForm::markdown:
      return report_to_markdown(view, evidence);
    case ReportForm::junit:
      return to_junit(ci_report_of(view, evidence));
    case ReportForm::sarif:
      return to_sarif(ci_report_of(view, evidence));
    case ReportForm::gitlab:
      return to_gitlab(ci_report_of(view, evidence));
    case ReportForm::github:
      return to_github(ci_report_of(view, evidence), text_of(view), os::random_hex(16));
    case ReportForm::text:
      break;
  }
  return text_of(view);
}

}  // namespace runner::cli
