#include "runner/promotion/promoter.h"

#include <unistd.h>

#include <algorithm>

#include "gates/verdict.h"
#include "runner/attest/audit_chain.h"
#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/log.h"
#include "runner/promotion/landed.h"
#include "runner/scheduler/conclusion.h"
#include "runner/scheduler/task_needs.h"
#include "runner/store/approvals.h"
#include "runner/store/events.h"
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

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Until a landing is tried again that could not be (the remote is down, the repository cannot be
// written): at first, doubled each time, at most.
constexpr milliseconds kAgain{200};
constexpr milliseconds kLongestAgain{10'000};
constexpr seconds kPromotionRound{2};

constexpr const char* kSubmitAgain = "rebase the change on the target and submit it again";

std::string pack_of(const Config& config, const store::TaskRow& task, const char* kind) {
  const std::string path =
      quarantine_path(config, task.id) + "/" + task.change.candidate.hex() + kind;
  return ::access(path.c_str(), F_OK) == 0 ? path : std::string();
}

// Before the next try after so many failed ones in a row.
milliseconds pause_after(int count) {
  constexpr int kDoublings = 6;
  return std::min(kAgain * (1 << std::min(count - 1, kDoublings)), kLongestAgain);
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
  auto queued = context_.store.read(
      [](store::Database& database) { return store::landing_queue(database, {}); });
  if (!queued) return;
  for (auto first = queued->begin(); first != queued->end();) {
    const auto last = std::find_if(
        first, queued->end(), [&](const auto& task) { return task.project != first->project; });
    look_at(Queue(first, last));
    first = last;
  }
  const os::Result<void> noted = write_due_notes(context_);
  if (!noted) log_line(LogLevel::warn, "note put off", {{"error", noted.error().message}});
}

void Promoter::look_at(Queue queue) {
  const store::TaskRow& first = queue.front();
  const Setback before = setbacks_.with([&](const auto& setbacks) {
    const auto found = setbacks.find(first.id);
    return found == setbacks.end() ? Setback{} : found->second;
  });
  if (before.count > 0 && before.again > steady_clock::now()) return;
  const std::string id = first.id;
  os::Result<Ground> ground = ground_of(first.project);
  const bool is_of_first = ground.has_value();
  const os::Result<void> done =
      ground ? advance(queue, *ground) : os::Result<void>(std::unexpected(ground.error()));
  setbacks_.with([&](auto& setbacks) { setbacks.erase(id); });
  if (done) return;
  log_line(LogLevel::warn, "promotion put off", {{"task", id}, {"error", done.error().message}});
  const int count = before.count + 1;
  if (is_of_first && count >= kMaxSetbacks && queue.size() > 1 &&
      put_last(id, done.error().message))
    return;
  // A target that moved meanwhile is looked at again at once; one that refuses without having moved
  // is not.
  const bool is_moved = done.error().code == os::Code::conflict && count == 1;
  const milliseconds pause = is_moved ? milliseconds(0) : pause_after(count);
  setbacks_.with([&](auto& setbacks) {
    setbacks.insert_or_assign(id, Setback{.problem = done.error().message,
                                          .count = count,
                                          .again = steady_clock::now() + pause});
  });
}

os::Result<Promoter::Ground> Promoter::ground_of(const std::string& name) {
  auto project = TRY(context_.store.read(
      [&](store::Database& database) { return store::find_project(database, name); }));
  if (!project) return os::fail(os::Code::not_found, "there is no project " + name);
  Ground ground{.project = std::move(*project), .tip = {}};
  // Looked at again when it is thawed.
  if (ground.project.project.frozen.empty())
    ground.tip = TRY_CONTEXT(context_.git.tip(ground.project.project), "read the target");
  return ground;
}

os::Result<void> Promoter::put_last(const std::string& task, const std::string& why) {
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    store::TaskRow now = TRY(store::get_task(database, task));
    if (now.state != TaskState::promoting) return {};
    now.landing_since = now_text();
    TRY(store::save_task(database, now));
    return store::append_event(database, {.id = 0,
                                          .task = now.id,
                                          .project = now.project,
                                          .type = "promotion.put_last",
                                          .at = now.landing_since,
                                          .data = store::object_json({{"why", why}})});
  });
}

os::Result<void> Promoter::advance(Queue queue, const Ground& ground) {
  for (store::TaskRow& task : queue) {
    if (task.cancel_by.empty()) continue;
    const bool is_ended = TRY(context_.store.write_value<bool>(
        [&](store::Database& database) { return end_if_cancelled(database, task); }));
    if (is_ended) return {};
  }
  if (!ground.project.project.frozen.empty()) return {};
  for (store::TaskRow& task : queue)
    if (task.state == TaskState::promoting && TRY(finish_moved(task, ground))) return {};
  store::TaskRow& first = queue.front();
  // It is being tested on the tip: those behind it would have to be tested again once it landed.
  if (first.state != TaskState::promoting) return {};
  if (ground.tip.commit == first.change.base) return land(first, ground.project);
  return rebase(first, ground.project, ground.tip);
}

// True if the task's commit is on the target: its end was noted.
os::Result<bool> Promoter::finish_moved(store::TaskRow& task, const Ground& ground) {
  const auto& [project, tip] = ground;
  const auto begun = TRY(context_.store.read(
      [&](store::Database& database) { return store::find_promotion(database, task.id); }));
  const bool may_have_moved = begun && begun->state == store::PromotionState::moving &&
                              begun->new_commit == task.change.candidate.hex();
  const bool is_there =
      tip.commit == task.change.candidate ||
      (may_have_moved &&
       TRY(context_.git.is_ancestor(project.project, task.change.candidate, tip.commit)));
  if (!is_there) return false;
  TRY(finish(task, project, may_have_moved ? begun->old_commit : task.change.base.hex()));
  return true;
}

os::Result<bool> Promoter::end_if_cancelled(store::Database& database, store::TaskRow& task) {
  const store::TaskRow now = TRY(store::get_task(database, task.id));
  if (now.state != TaskState::promoting || now.cancel_by.empty()) return false;
  // A push whose answer was lost may still arrive.
  const auto begun = TRY(store::find_promotion(database, task.id));
  if (begun && begun->state == store::PromotionState::moving &&
      begun->new_commit == now.change.candidate.hex())
    return false;
  task = now;
  conclude_cancelled(task);
  TRY(context_.audit.append(database, {.type = "task.cancelled",
                                       .actor = task.cancel_by,
                                       .project = task.project,
                                       .subject = task.id,
                                       .data = {}}));
  TRY(store::move_task(database, task, TaskState::done,
                       store::object_json({{"verdict", "cancelled"}})));
  return true;
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
  const bool is_cancelled =
      TRY(context_.store.write_value<bool>([&](store::Database& database) -> os::Result<bool> {
        if (TRY(end_if_cancelled(database, task))) return true;
        TRY(store::begin_promotion(database, row));
        TRY(context_.audit.append(
            database,
            {.type = "promotion.begun",
             .actor = "serve",
             .project = task.project,
             .subject = task.id,
             .data = {{"target", row.target}, {"old", row.old_commit}, {"new", row.new_commit}}}));
        return false;
      }));
  if (is_cancelled) return {};
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
    if (TRY(end_if_cancelled(database, task))) return {};
    task.cancel_by = TRY(store::get_task(database, task.id)).cancel_by;
    TRY(store::add_refs(database, task.id, {policy_blob, diff_blob, view_blob}));
    TRY(store::put_diff_view(database, diff_blob, view_blob));
    if (!why_void.empty()) {
      TRY(store::void_approvals(database, task.id, why_void));
      task.landing_since.clear();
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
