#include "runner/scheduler/result_taker.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "gates/gate.h"
#include "runner/attest/audit_chain.h"
#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/log.h"
#include "runner/promotion/approval_rules.h"
#include "runner/scheduler/attempt_stage.h"
#include "runner/scheduler/benchmark_spending.h"
#include "runner/scheduler/conclusion.h"
#include "runner/store/approvals.h"
#include "runner/store/attempts.h"
#include "runner/store/evidence_refs.h"
#include "runner/store/record_json.h"
#include "runner/store/tasks.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

bool is_of(const tasks::Evidence& evidence, const store::AttemptRow& attempt,
           const std::string& instance) {
  return evidence.attempt == attempt.id && evidence.fence == attempt.fence &&
         evidence.task == attempt.task && evidence.instance == instance;
}

// "reduced" as soon as one run was.
std::string level_of(const tasks::Evidence& evidence) {
  const bool is_reduced = std::ranges::any_of(
      evidence.runs, [](const tasks::RunRecord& run) { return run.level != "full"; });
  return is_reduced ? "reduced" : "full";
}

std::string event_of(const store::TaskRow& task) {
  return store::object_json({{"verdict", task.verdict},
                             {"class", task.failure_class},
                             {"reason", task.reason},
                             {"commit", task.change.candidate.hex()}});
}

AuditEvent verdict_event(const store::TaskRow& task, TaskState next) {
  return {.type = "task.judged",
          .actor = "serve",
          .project = task.project,
          .subject = task.id,
          .data = {{"verdict", task.verdict},
                   {"class", task.failure_class},
                   {"commit", task.change.candidate.hex()},
                   {"evidence", task.evidence_sha256},
                   {"next", std::string(task_state_name(next))}}};
}

}  // namespace

struct ResultTaker::Taken {
  std::string result_sha256;
  std::vector<std::string> blobs;
  tasks::Evidence evidence;
  std::optional<JudgedEvidence> judged;  // status completed
  std::string base_sha256;               // blob with the base's runs; empty: there are none
};

os::Result<JudgedEvidence> judge_kept(const EvidenceFolder& folder, tasks::Evidence evidence) {
  JudgedEvidence judged;
  judged.evidence = std::move(evidence);
  TRY(load_reports(folder, judged.evidence));
  judged.policy = TRY(tasks::policy_from_json(
      TRY_CONTEXT(folder.get(judged.evidence.policy_sha256, kPolicyJsonLimit), "policy")));
  judged.judgement = gates::judge(judged.policy, judged.evidence);
  return judged;
}

os::Result<ResultTaker::Taken> ResultTaker::collect(const store::AttemptRow& attempt) {
  const os::Fd directory = TRY(os::open_file(
      attempt_path(context_.config, attempt.id, attempt.fence), O_RDONLY | O_DIRECTORY));
  const std::string bytes =
      TRY(os::read_file_at(directory.get(), "result.json", kAttemptResultLimit));
  Taken taken;
  taken.evidence = TRY_CONTEXT(tasks::evidence_from_json(bytes), "result.json");
  if (!is_of(taken.evidence, attempt, context_.instance))
    return os::fail(os::Code::corrupt, "result.json belongs to another attempt");
  taken.blobs = TRY(context_.evidence.take(directory.get()));
  taken.result_sha256 = TRY(context_.evidence.put(bytes));
  taken.blobs.push_back(taken.result_sha256);
  if (taken.evidence.status != tasks::AttemptStatus::completed) return taken;
  if (const auto base = base_evidence_of(taken.evidence))
    taken.base_sha256 = TRY(context_.evidence.put(tasks::evidence_to_json(*base)));
  taken.judged = TRY(judge_kept(context_.evidence, taken.evidence));
  return taken;
}

os::Result<void> ResultTaker::commit(const store::AttemptRow& attempt, const Taken& taken,
                                     const std::string& key) {
  // A base's runs are kept only together with the build that they belong to.
  const bool keeps_base = !taken.base_sha256.empty() &&
                          os::open_file(layer_path(context_.config, key), O_PATH).has_value();
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    TRY(store::take_result(database, attempt, taken.result_sha256, now_text()));
    store::TaskRow task = TRY(store::get_task(database, attempt.task));
    task.evidence_sha256 = taken.result_sha256;
    task.level = level_of(taken.evidence);
    TRY(store::add_refs(database, task.id, taken.blobs));
    TRY(store::copy_refs(database, "base/" + key, task.id));
    if (keeps_base && !TRY(store::find_base(database, key))) {
      TRY(store::insert_base(database, key, taken.base_sha256, now_text()));
      TRY(store::add_refs(database, "base/" + key, {taken.base_sha256}));
      TRY(store::add_refs(database, "base/" + key, blobs_of(*base_evidence_of(taken.evidence))));
    }
    TaskState next = TaskState::done;
    if (!task.cancel_by.empty()) {
      conclude_cancelled(task);
    } else if (taken.judged) {
      TRY(record_spending(database, task, taken.judged->judgement));
      TRY(void_if_changed(database, task, taken.judged->judgement));
      next = conclude_judged(task, taken.judged->policy, taken.judged->judgement,
                             TRY(store::approvals_of(database, task.id)));
    } else if (!attempt.stop_reason.empty() &&
               taken.evidence.status == tasks::AttemptStatus::cancelled) {
      next = conclude_stopped(task, attempt.stop_reason);
    } else {
      const auto& infra = taken.evidence.infra;
      next = conclude_fault(task, infra ? infra->step + ": " + infra->detail : "it was stopped",
                            infra && !infra->retryable ? Retry::useless : Retry::allowed);
    }
    TRY(context_.audit.append(database, verdict_event(task, next)));
    return store::move_task(database, task, next, event_of(task));
  });
}

// `approval: clean-rebase` keeps an approval only where the gates say what its reviewer saw.
os::Result<void> ResultTaker::void_if_changed(store::Database& database, const store::TaskRow& task,
                                              const gates::Judgement& now) {
  if (task.judgement.empty()) return {};
  const std::string change = changed_outcome(TRY(gates::judgement_from_json(task.judgement)), now);
  if (change.empty()) return {};
  if (TRY(store::void_approvals(database, task.id, change)) == 0) return {};
  return context_.audit.append(database, {.type = "approvals.voided",
                                          .actor = "serve",
                                          .project = task.project,
                                          .subject = task.id,
                                          .data = {{"reason", change}}});
}

os::Result<void> ResultTaker::take(const store::AttemptRow& attempt, const std::string& key) {
  os::Result<Taken> taken = collect(attempt);
  if (!taken && taken.error().code == os::Code::not_found &&
      !os::open_file(attempt_path(context_.config, attempt.id, attempt.fence) + "/result.json",
                     O_PATH))
    return std::unexpected(taken.error());
  if (!taken) {
    // What it wrote cannot be taken: as good as no result.
    log_line(LogLevel::error, "result not taken",
             {{"task", attempt.task}, {"attempt", attempt.id}, {"error", taken.error().message}});
    return give_up(attempt, End::without_result, taken.error().message);
  }
  TRY(commit(attempt, *taken, key));
  os::failpoint("verdict-committed");
  return {};
}

os::Result<void> ResultTaker::give_up(const store::AttemptRow& attempt, End end,
                                      const std::string& detail) {
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    if (end == End::lost)
      TRY(store::mark_lost(database, attempt, now_text()));
    else
      TRY(store::take_result(database, attempt, "", now_text()));
    store::TaskRow task = TRY(store::get_task(database, attempt.task));
    TaskState next = TaskState::done;
    if (!task.cancel_by.empty())
      conclude_cancelled(task);
    else if (!attempt.stop_reason.empty())
      next = conclude_stopped(task, attempt.stop_reason);
    else
      next = conclude_fault(task, detail, Retry::allowed);
    TRY(context_.audit.append(database, verdict_event(task, next)));
    return store::move_task(database, task, next, event_of(task));
  });
}

}  // namespace runner
