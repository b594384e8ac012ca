// Submit: a change on its way from a POST to a durable task.
#include <chrono>

#include "runner/attest/audit_chain.h"
#include "runner/clock.h"
#include "runner/log.h"
#include "runner/scheduler/task_needs.h"
#include "runner/service_core.h"
#include "runner/service_flights.h"
#include "runner/store/evidence_refs.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"
#include "runner/submission_check.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

// How long a key stands for its task (DESIGN.md §8).
constexpr std::chrono::hours kKeyLife{24};
constexpr std::size_t kKeyLimit = 200;

std::string commit_title(const Submission& submission, const std::string& task) {
  return submission.title.empty() ? "Change of " + task : submission.title;
}

tasks::IngestSpec spec_of(const Submission& submission, const GitTip& tip,
                          const tasks::CommitId& base) {
  tasks::IngestSpec spec;
  spec.source = submission.patch.empty() ? tasks::IngestSpec::Source::commit
                                         : tasks::IngestSpec::Source::patch;
  spec.base = base;
  spec.tip = tip.commit;
  // Neither patch nor commit: the base itself.
  spec.commit = submission.commit.empty() ? base : *tasks::CommitId::parse(submission.commit);
  if (spec.source == tasks::IngestSpec::Source::patch) spec.commit = {};
  spec.time = std::chrono::duration_cast<std::chrono::seconds>(
                  std::chrono::system_clock::now().time_since_epoch())
                  .count();
  return spec;
}

AuditEvent admission_audit(const Actor& actor, const store::TaskRow& row) {
  return {.type = "task.admitted",
          .actor = actor.principal.name,
          .project = row.project,
          .subject = row.id,
          .data = {{"token", actor.token},
                   {"intent", std::string(tasks::intent_name(row.intent))},
                   {"base", row.change.base.hex()},
                   {"commit", row.change.candidate.hex()},
                   {"diff_digest", row.change.diff.digest},
                   {"policy_sha256", row.policy_sha256}}};
}

// A fault of ours while a change was taken in: nothing that the client did wrong.
std::unexpected<ServiceError> fault_of_ingest(const os::Error& error, const std::string& task) {
  log_line(LogLevel::warn, "change not taken in", {{"task", task}, {"error", error.message}});
  if (error.code == os::Code::not_found) return refuse_field("/change/pack", error.message);
  return refuse_for_now(error.code == os::Code::exhausted ? "queue_full" : "unavailable",
                        "the change could not be taken in: " + error.message,
                        "try again in a few seconds");
}

}  // namespace

Answer<Submitted> ServiceCore::submit(const Actor& actor, const Submission& submission,
                                      const std::string& given_key) {
  ASK(check_submission(submission, config_.caps));
  if (given_key.size() > kKeyLimit)
    return refuse_field("", "an idempotency key has at most 200 characters");
  store::ProjectRow project = ASK(visible_project(actor, submission.project));
  if (!may_submit(actor, submission.project))
    return refuse("forbidden", "you may not submit to " + submission.project,
                  "ask an administrator for the role agent");
  const std::string body = digest_of(submission);
  const std::string& principal = actor.principal.name;
  const auto find_key = [&](const std::string& key) {
    return store_->read([&](store::Database& database) {
      return store::find_key(database, principal, key, now_text());
    });
  };
  // A given key is answered before anything can fail: its task may be there already.
  std::string key = "given:" + given_key;
  if (!given_key.empty()) {
    if (const auto known = ASK(find_key(key))) return replay(*known, body);
  }
  const GitTip tip = ASK(git_->tip(project.project));
  if (given_key.empty()) {
    key = "derived:" + os::sha256(principal + "\n" + body + "\n" + tip.commit.hex()).hex();
    if (const auto known = ASK(find_key(key))) return replay(*known, body);
  }
  Flights::Seat seat(*flights_, {principal, key});
  if (const auto other = seat.take(body)) {
    if (other->body != body)
      return replay(
          {.principal = {}, .key = {}, .body_sha256 = other->body, .task = {}, .expires_at = {}},
          body);
    Answer<Submitted> answer = other->answer.get();
    if (answer) answer->replayed = true;
    return answer;
  }
  const auto take_off = [&]() -> Answer<Submitted> {
    // One that landed between our look for it and our place here is to be seen by now.
    if (const auto known = ASK(find_key(key))) return replay(*known, body);
    return admit({.actor = actor,
                  .submission = submission,
                  .project = std::move(project),
                  .tip = tip,
                  .key = key,
                  .body = body});
  };
  Answer<Submitted> answer = take_off();
  seat.land(answer);
  return answer;
}

Answer<Submitted> ServiceCore::replay(const store::KeyRow& row, const std::string& body) {
  if (row.body_sha256 != body)
    return refuse("idempotency_key_reused", "the key was used for another submission",
                  "choose a new key for a new submission");
  const store::TaskRow task = ASK(
      store_->read([&](store::Database& database) { return store::get_task(database, row.task); }));
  return Submitted{.task = ASK(view_of(task)), .replayed = true};
}

Answer<void> ServiceCore::check_capacity() {
  if (scheduler_.is_draining())
    return refuse_for_now("draining", "the server takes no new tasks: it is being shut down",
                          "try again when it is back");
  const MachineState machine = scheduler_.machine();
  if (!machine.probe)
    return refuse_for_now("sandbox_unavailable", "the executor does not answer: " + machine.problem,
                          "try again, or ask the operator to run `proofhouse doctor`");
  if (!machine.probe->missing.empty())
    return refuse_for_now("sandbox_unavailable",
                          "the sandbox lacks " + machine.probe->missing.front(),
                          "ask the operator to run `proofhouse doctor`");
  const int queued = ASK(store_->read(
      [](store::Database& database) { return store::count_tasks(database, TaskState::queued); }));
  if (queued >= config_.caps.queue)
    return refuse_for_now("queue_full", std::to_string(queued) + " tasks wait already",
                          "try again in a minute");
  if (ASK(disk_use_millionths(config_)) > config_.disk_high_water_millionths)
    return refuse_for_now("disk_full",
                          "the disk of the data directory is fuller than disk.high_water",
                          "ask the operator to make room");
  return {};
}

Answer<Ingested> ServiceCore::take_in(const Admission& admission, const std::string& task) {
  const Submission& submission = admission.submission;
  const GitTip& tip = admission.tip;
  const tasks::CommitId base =
      submission.base.empty() ? tip.commit : *tasks::CommitId::parse(submission.base);
  if (submission.intent == tasks::Intent::promote && base != tip.commit) {
    auto refusal =
        refuse("stale_base", "the target is at " + tip.commit.hex() + ", not at " + base.hex(),
               "rebase the change on the target's tip and submit it again");
    refusal.error().pointer = "/base";
    refusal.error().extra["tip"] = tip.commit.hex();
    return refusal;
  }
  IngestOrder order;
  order.task = task;
  order.repository = admission.project.project.repository;
  order.intent = submission.intent;
  order.spec = spec_of(submission, tip, base);
  order.spec.author = admission.actor.principal.name;
  order.spec.title = commit_title(submission, task);
  order.patch = submission.patch;
  order.policy_yaml = admission.project.policy_yaml;
  if (!submission.pack.empty()) {
    const auto pack = ASK(store_->read(
        [&](store::Database& database) { return store::find_pack(database, submission.pack); }));
    if (!pack || pack->project != submission.project)
      return refuse_field("/change/pack", "there is no pack '" + submission.pack + "' (any more)");
    order.pack = pack_path(config_, pack->id);
  }
  os::Result<Ingested> ingested = ingestor_.take(order);
  if (!ingested) return fault_of_ingest(ingested.error(), task);
  if (ingested->result.refusal) return refused_change(*ingested->result.refusal);
  return std::move(*ingested);
}

Answer<store::TaskRow> ServiceCore::make_task(const Admission& admission, const Ingested& ingested,
                                              const std::string& id) {
  const Submission& submission = admission.submission;
  store::TaskRow row;
  row.id = id;
  row.project = submission.project;
  row.principal = admission.actor.principal.name;
  row.title = submission.title;
  row.priority = submission.priority;
  row.family = submission.family;
  row.intent = submission.intent;
  row.claims = submission.claims;
  row.steps = submission.steps;
  row.change = ingested.result;
  row.created_at = now_text();
  if (row.intent == tasks::Intent::promote && row.change.tree == row.change.base_tree)
    return refuse_field("/change", "the change changes nothing: there is nothing to promote");
  const std::string policy_json = ASK(ingested.policy_json());
  const tasks::Policy policy = ASK(tasks::policy_from_json(policy_json));
  ASK(check_steps(submission, policy));
  if (policy.promotion.notes && admission.project.project.authority == Authority::remote)
    return refuse("unsupported",
                  "promotion.notes is not supported yet where the branch is held elsewhere",
                  "ask an owner to take promotion.notes out of the policy");
  const MachineState machine = scheduler_.machine();
  if (!machine.probe) return refuse_for_now("sandbox_unavailable", machine.problem, "try again");
  const os::Result<void> fits = fill_needs(row, policy, *machine.probe);
  if (!fits)
    return refuse("unsatisfiable", fits.error().message,
                  "run it where the machine has what the policy asks for");
  row.level = machine.probe->level;
  row.policy_sha256 = ASK(evidence_.put(policy_json));
  row.diff_sha256 = ASK(evidence_.put(ASK(ingested.diff())));
  row.approvals_needed = policy.promotion.approvals;
  row.owners_needed = tasks::owner_approvals(policy, row.change.guarded);
  if (row.intent != tasks::Intent::promote) row.approvals_needed = row.owners_needed = 0;
  return row;
}

Answer<Submitted> ServiceCore::admit(const Admission& admission) {
  ASK(check_capacity());
  const Submission& submission = admission.submission;
  if (submission.intent == tasks::Intent::promote && !admission.project.project.frozen.empty())
    return refuse("project_frozen", "the project is frozen: " + admission.project.project.frozen,
                  "an operator has to look at its repository");
  const std::string id = "t_" + os::make_ulid();
  const Ingested ingested = ASK(take_in(admission, id));
  const store::TaskRow row = ASK(make_task(admission, ingested, id));
  const std::string view_blob = ASK(evidence_.put(ASK(ingested.diff_view())));
  ASK(ingested.keep_objects(config_, id));
  const store::KeyRow key{.principal = row.principal,
                          .key = admission.key,
                          .body_sha256 = admission.body,
                          .task = id,
                          .expires_at = time_text_after(kKeyLife)};
  const os::Result<void> written =
      store_->write([&](store::Database& database) -> os::Result<void> {
        TRY(store::insert_task(database, row));
        TRY(store::insert_key(database, key, now_text()));
        TRY(audit_.append(database, admission_audit(admission.actor, row)));
        TRY(store::put_diff_view(database, row.diff_sha256, view_blob));
        return store::add_refs(database, id, {row.policy_sha256, row.diff_sha256, view_blob});
      });
  if (!written) {
    ASK(os::remove_tree(quarantine_path(config_, id)));
    // The same submission got in between our look for its key and now.
    const auto known = ASK(store_->read([&](store::Database& database) {
      return store::find_key(database, key.principal, key.key, now_text());
    }));
    if (known) return replay(*known, admission.body);
    return std::unexpected(to_service_error(written.error()));
  }
  os::failpoint("accepted");
  const store::TaskRow stored =
      ASK(store_->read([&](store::Database& database) { return store::get_task(database, id); }));
  return Submitted{.task = ASK(view_of(stored)), .replayed = false};
}

}  // namespace runner
