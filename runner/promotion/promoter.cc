#include "runner/promotion/promoter.h"

#include <unistd.h>

#include "gates/verdict.h"
#include "runner/attest/audit_chain.h"
#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/log.h"
#include "runner/promotion/landed.h"
#include "runner/scheduler/conclusion.h"
#include "runner/scheduler/task_needs.h"
#include "runner/store/approvals.h"
#include "runner/store/evidence_refs.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/record_json.h"
#include "runner/store/tasks.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

// A landing that could not be tried (the remote is down, the repository cannot be written).
constexpr seconds kAgain{5};
constexpr seconds kPromotionRound{2};

constexpr const char* kSubmitAgain = "rebase the change on the target and submit it again";

std::string pack_of(const Config& config, const store::TaskRow& task, const char* kind) {
  const std::string path =
      quarantine_path(config, task.id) + "/" + task.change.candidate.hex() + kind;
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

// The end of a task that was about to land and did not.
AuditEvent ended_audit(const store::TaskRow& task) {
  return {.type = "promotion.refused",
          .actor = "serve",
          .project = task.project,
          .subject = task.id,
          .data = {{"code", task.reason_code}, {"reason", task.reason}}};
}

}  // namespace

Promoter::Promoter(const ServiceContext& context, Ingestor& ingestor, const Scheduler& scheduler)
    : context_(context), ingestor_(ingestor), scheduler_(scheduler) {}

Promoter::~Promoter() { stop(); }

void Promoter::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::uint64_t version = 0;
    while (!stop.stop_requested()) {
      run_once();
      version = context_.store.wait_change(version, steady_clock::now() + kPromotionRound);
    }
  });
}

void Promoter::stop() {
  thread_.request_stop();
  context_.store.wake_waits();
  if (thread_.joinable()) thread_.join();
}

std::string Promoter::problem_of(const std::string& task) const {
  return setbacks_.with([&](const auto& setbacks) {
    const auto found = setbacks.find(task);
    return found == setbacks.end() ? std::string() : found->second.problem;
  });
}

void Promoter::run_once() {
  const auto waiting = context_.store.read([](store::Database& database) {
    return store::tasks_in_state(database, TaskState::promoting);
  });
  if (!waiting) return;
  for (const store::TaskRow& task : *waiting) {
    const bool is_due = setbacks_.with([&](const auto& setbacks) {
      const auto found = setbacks.find(task.id);
      return found == setbacks.end() || found->second.again <= steady_clock::now();
    });
    if (!is_due) continue;
    const os::Result<void> done = promote(task);
    setbacks_.with([&](auto& setbacks) {
      setbacks.erase(task.id);
      // A target that moved meanwhile is looked at again at once.
      const bool is_moved = !done && done.error().code == os::Code::conflict;
      if (!done)
        setbacks.insert(
            {task.id,
             {done.error().message, steady_clock::now() + (is_moved ? seconds(0) : kAgain)}});
    });
    if (!done)
      log_line(LogLevel::warn, "promotion put off",
               {{"task", task.id}, {"error", done.error().message}});
  }
  const os::Result<void> noted = write_due_notes(context_);
  if (!noted) log_line(LogLevel::warn, "note put off", {{"error", noted.error().message}});
}

os::Result<void> Promoter::promote(store::TaskRow task) {
  const auto project = TRY(context_.store.read(
      [&](store::Database& database) { return store::find_project(database, task.project); }));
  if (!project) return os::fail(os::Code::not_found, "there is no project " + task.project);
  if (!project->project.frozen.empty())
    return os::fail(os::Code::denied, "the project is frozen: " + project->project.frozen);
  const auto begun = TRY(context_.store.read(
      [&](store::Database& database) { return store::find_promotion(database, task.id); }));
  const GitTip tip = TRY_CONTEXT(context_.git.tip(project->project), "read the target");
  const bool may_have_moved = begun && begun->state == store::PromotionState::moving &&
                              begun->new_commit == task.change.candidate.hex();
  if (tip.commit == task.change.candidate ||
      (may_have_moved &&
       TRY(context_.git.is_ancestor(project->project, task.change.candidate, tip.commit))))
    return finish(task, *project, may_have_moved ? begun->old_commit : task.change.base.hex());
  if (tip.commit == task.change.base) return land(task, *project);
  return rebase(task, *project, tip);
}

os::Result<void> Promoter::land(store::TaskRow& task, const store::ProjectRow& row_of) {
  const Project& project = row_of.project;
  store::PromotionRow row{.task = task.id,
                          .project = task.project,
                          .target = project.target,
                          .old_commit = task.change.base.hex(),
                          .new_commit = task.change.candidate.hex(),
                          .state = store::PromotionState::moving,
                          .receipt = {},
                          .at = now_text()};
  const std::string objection = TRY(objection_to_landing(context_, task));
  if (!objection.empty()) return end_unproven(task, objection);
  TRY(context_.store.write([&](store::Database& database) -> os::Result<void> {
    TRY(store::begin_promotion(database, row));
    return context_.audit.append(
        database,
        {.type = "promotion.begun",
         .actor = "serve",
         .project = task.project,
         .subject = task.id,
         .data = {{"target", row.target}, {"old", row.old_commit}, {"new", row.new_commit}}});
  }));
  os::Result<void> landed =
      context_.git.land(project, {.from = task.change.base,
                                  .to = task.change.candidate,
                                  .pack = pack_of(context_.config, task, ".pack"),
                                  .index = pack_of(context_.config, task, ".idx")});
  // Somebody was faster: the next look finds the new tip and rebases.
  if (!landed) return landed;
  os::failpoint("ref-moved");
  return finish(task, row_of, row.old_commit);
}

os::Result<void> Promoter::finish(store::TaskRow& task, const store::ProjectRow& row_of,
                                  const std::string& old) {
  const Project& project = row_of.project;
  const GitTip now = TRY_CONTEXT(context_.git.read_back(project), "read the target back");
  const bool is_exact = now.commit == task.change.candidate;
  if (is_exact && now.tree != task.change.tree)
    return freeze(task, project, "the target's tree is not the one that was tested");
  // Others may have built on it already.
  if (!is_exact && !TRY(context_.git.is_ancestor(project, task.change.candidate, now.commit)))
    return freeze(task, project,
                  "after the promotion of " + task.id + " the target is at " + now.commit.hex());
  TRY(conclude_landed(context_, task, {.project = row_of, .old_commit = old, .read_back = now}));
  os::failpoint("receipt-written");
  return os::remove_tree(quarantine_path(context_.config, task.id));
}

os::Result<void> Promoter::freeze(store::TaskRow& task, const Project& project,
                                  const std::string& why) {
  log_line(LogLevel::error, "project frozen", {{"project", project.name}, {"why", why}});
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    TRY(store::freeze_project(database, project.name, why));
    const auto row = TRY(store::find_promotion(database, task.id));
    if (row && row->state == store::PromotionState::moving) {
      store::PromotionRow failed = *row;
      failed.state = store::PromotionState::failed;
      TRY(store::end_promotion(database, failed));
    }
    task.verdict = gates::verdict_name(gates::Verdict::error);
    task.failure_class = gates::failure_class_name(gates::FailureClass::internal);
    task.reason_code = "read_back_mismatch";
    task.reason = why;
    task.next_step = "an operator has to look at the repository before the project goes on";
    TRY(context_.audit.append(database, {.type = "project.frozen",
                                         .actor = "serve",
                                         .project = project.name,
                                         .subject = task.id,
                                         .data = {{"reason", why}}}));
    return store::move_task(database, task, TaskState::done,
                            store::object_json({{"verdict", task.verdict}, {"reason", why}}));
  });
}

os::Result<void> Promoter::end_rejected(store::TaskRow& task, const std::string& code,
                                        const std::string& reason, const std::string& next_step) {
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    TRY(store::void_approvals(database, task.id, reason));
    conclude_review(task, code, reason, next_step);
    TRY(context_.audit.append(database, ended_audit(task)));
    return store::move_task(
        database, task, TaskState::done,
        store::object_json(
            {{"verdict", task.verdict}, {"class", task.failure_class}, {"reason", reason}}));
  });
}

os::Result<void> Promoter::end_unproven(store::TaskRow& task, const std::string& objection) {
  log_line(LogLevel::error, "promotion refused", {{"task", task.id}, {"why", objection}});
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    task.verdict = gates::verdict_name(gates::Verdict::error);
    task.failure_class = gates::failure_class_name(gates::FailureClass::internal);
    task.reason_code = "unproven";
    task.reason = "nothing was landed: " + objection;
    task.next_step = "ask the operator to look at the audit log, then submit the change again";
    TRY(context_.audit.append(database, ended_audit(task)));
    return store::move_task(database, task, TaskState::done,
                            store::object_json({{"verdict", task.verdict}, {"reason", objection}}));
  });
}

os::Result<void> Promoter::rebase(store::TaskRow& task, const store::ProjectRow& project,
                                  const GitTip& tip) {
  if (task.rebases >= kMaxRebases)
    return end_rejected(
        task, "target_moves",
        "the target moved " + std::to_string(kMaxRebases) + " times while the change was tested",
        kSubmitAgain);
  IngestOrder order;
  order.task = task.id;
  order.repository = project.project.repository;
  order.intent = task.intent;
  order.spec.source = tasks::IngestSpec::Source::rebase;
  order.spec.commit = task.change.candidate;
  order.spec.onto = tip.commit;
  order.spec.base = task.change.base;
  order.spec.tip = tip.commit;
  order.spec.author = task.principal;
  order.spec.title = task.title;
  order.spec.time =
      std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  order.pack = pack_of(context_.config, task, ".pack");
  order.policy_yaml = project.policy_yaml;
  const Ingested ingested = TRY_CONTEXT(ingestor_.take(order), "rebase on the new tip");
  if (const auto& refusal = ingested.result.refusal)
    return end_rejected(task, refusal->code,
                        "the target moved and the change does not rebase: " +
                            (refusal->path.empty() ? "" : refusal->path + ": ") + refusal->detail,
                        kSubmitAgain);
  if (ingested.result.tree == ingested.result.base_tree)
    return end_rejected(task, "nothing_to_land", "the target has the change already",
                        "nothing: it is there");
  return take_rebased(task, ingested);
}

os::Result<void> Promoter::take_rebased(store::TaskRow& task, const Ingested& ingested) {
  const MachineState machine = scheduler_.machine();
  if (!machine.probe) return os::fail(os::Code::unavailable, machine.problem);
  TRY(ingested.keep_objects(context_.config, task.id));
  const std::string policy_json = TRY(ingested.policy_json());
  const std::string policy_blob = TRY(context_.evidence.put(policy_json));
  const std::string diff_blob = TRY(context_.evidence.put(TRY(ingested.diff())));
  const std::string view_blob = TRY(context_.evidence.put(TRY(ingested.diff_view())));
  const tasks::Policy policy = TRY(tasks::policy_from_json(policy_json));
  const tasks::Policy before = TRY(
      tasks::policy_from_json(TRY(context_.evidence.get(task.policy_sha256, kPolicyJsonLimit))));
  std::string why_void;
  if (ingested.result.diff.digest != task.change.diff.digest)
    why_void = "the target moved and the rebased diff is another one";
  else if (policy_blob != task.policy_sha256)
    why_void = "the target moved and the policy is another one";
  else if (before.promotion.approval == tasks::ApprovalRule::exact)
    why_void = "the target moved and the policy wants an approval of the exact commit";
  task.change = ingested.result;
  task.policy_sha256 = policy_blob;
  task.diff_sha256 = diff_blob;
  const os::Result<void> fits = fill_needs(task, policy, *machine.probe);
  if (!fits) return end_rejected(task, "unsatisfiable", fits.error().message, kSubmitAgain);
  ++task.rebases;
  task.attempt.clear();
  task.attempt_why = "new tip";
  task.infra_faults = 0;
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    TRY(store::add_refs(database, task.id, {policy_blob, diff_blob, view_blob}));
    TRY(store::put_diff_view(database, diff_blob, view_blob));
    if (!why_void.empty()) {
      TRY(store::void_approvals(database, task.id, why_void));
      TRY(context_.audit.append(database, {.type = "approvals.voided",
                                           .actor = "serve",
                                           .project = task.project,
                                           .subject = task.id,
                                           .data = {{"reason", why_void}}}));
    }
    return store::move_task(
        database, task, TaskState::queued,
        store::object_json({{"why", "new tip"},
                            {"base", task.change.base.hex()},
                            {"commit", task.change.candidate.hex()},
                            {"approvals", why_void.empty() ? "kept" : why_void}}));
  });
}

}  // namespace runner
