#include "runner/store/tasks.h"

#include <utility>

#include "runner/clock.h"
#include "runner/store/events.h"
#include "runner/store/record_json.h"
#include "runner/store/task_state.h"

namespace runner::store {
namespace {

constexpr std::string_view kColumns =
    "sequence, id, project, principal, title, priority, family, intent, claims, steps, state, "
    "verdict, failure_class, judgement, reason_code, reason, next_step, change, policy_sha256, "
    "diff_sha256, evidence_sha256, level, cpus, memory, total_ms, approvals_needed, "
    "owners_needed, attempt_why, attempt, fence, infra_faults, rebases, overtaken, cancel_by, "
    "override_until, landing_since, created_at, updated_at";

// Takes the time now as its parameter.
constexpr std::string_view kIsLive = "(state <> 'done' OR override_until > ?)";

std::string select_tasks(std::string_view rest) {
  return "SELECT " + std::string(kColumns) + " FROM tasks " + std::string(rest);
}

os::Result<TaskRow> read_task(const Statement& row) {
  TaskRow task;
  int column = 0;
  const auto text = [&] { return row.text(column++); };
  const auto number = [&] { return row.int64(column++); };
  task.sequence = number();
  task.id = text();
  task.project = text();
  task.principal = text();
  task.title = text();
  task.priority = text();
  task.family = text();
  task.intent = TRY(tasks::parse_intent(text()));
  task.claims = TRY(claims_from_json(text()));
  task.steps = TRY(strings_from_json(text()));
  task.state = TRY(parse_task_state(text()));
  task.verdict = text();
  task.failure_class = text();
  task.judgement = text();
  task.reason_code = text();
  task.reason = text();
  task.next_step = text();
  task.change = TRY(tasks::ingest_result_from_json(text()));
  task.policy_sha256 = text();
  task.diff_sha256 = text();
  task.evidence_sha256 = text();
  task.level = text();
  task.cpus = static_cast<int>(number());
  task.memory = number();
  task.total_ms = number();
  task.approvals_needed = static_cast<int>(number());
  task.owners_needed = static_cast<int>(number());
  task.attempt_why = text();
  task.attempt = text();
  task.fence = number();
  task.infra_faults = static_cast<int>(number());
  task.rebases = static_cast<int>(number());
  task.overtaken = static_cast<int>(number());
  task.cancel_by = text();
  task.override_until = text();
  task.landing_since = text();
  task.created_at = text();
  task.updated_at = text();
  return task;
}

os::Result<std::vector<TaskRow>> read_tasks(Statement row) {
  std::vector<TaskRow> tasks;
  while (TRY(row.step())) tasks.push_back(TRY(read_task(row)));
  return tasks;
}

// Writes `task` where the stored state is `from`; conflict when it is not.
os::Result<void> update(Database& database, const TaskRow& task, TaskState from) {
  const std::int64_t changed = TRY(database.run(
      "UPDATE tasks SET state = ?, verdict = ?, failure_class = ?, judgement = ?, "
      "reason_code = ?, reason = ?, next_step = ?, change = ?, candidate_commit = ?, "
      "policy_sha256 = ?, diff_sha256 = ?, evidence_sha256 = ?, level = ?, cpus = ?, memory = ?, "
      "total_ms = ?, approvals_needed = ?, owners_needed = ?, attempt_why = ?, attempt = ?, "
      "fence = ?, infra_faults = ?, rebases = ?, overtaken = ?, cancel_by = ?, override_until = ?, "
      "landing_since = ?, updated_at = ? WHERE id = ? AND state = ?",
      {task_state_name(task.state),
       task.verdict,
       task.failure_class,
       task.judgement,
       task.reason_code,
       task.reason,
       task.next_step,
       tasks::ingest_result_to_json(task.change),
       task.change.candidate.hex(),
       task.policy_sha256,
       task.diff_sha256,
       task.evidence_sha256,
       task.level,
       std::int64_t{task.cpus},
       task.memory,
       task.total_ms,
       std::int64_t{task.approvals_needed},
       std::int64_t{task.owners_needed},
       task.attempt_why,
       task.attempt,
       task.fence,
       std::int64_t{task.infra_faults},
       std::int64_t{task.rebases},
       std::int64_t{task.overtaken},
       task.cancel_by,
       task.override_until,
       task.landing_since,
       now_text(),
       task.id,
       task_state_name(from)}));
  if (changed != 1)
    return os::fail(os::Code::conflict,
                    "task " + task.id + " is no longer " + std::string(task_state_name(from)));
  return {};
}

// Since when a task is in the promotion queue that goes to `to`.
std::string landing_since_in(TaskState to, const std::string& before) {
  switch (to) {
    case TaskState::promoting:
      return before.empty() ? now_text() : before;
    case TaskState::queued:
    case TaskState::running:
      return before;
    case TaskState::awaiting_approval:
    case TaskState::done:
      return {};
  }
  return {};
}

}  // namespace

os::Result<void> insert_task(Database& database, const TaskRow& task) {
  TRY(database.run(
      "INSERT INTO tasks(id, project, principal, title, intent, priority, family, claims, steps, "
      "state, verdict, failure_class, judgement, reason_code, reason, next_step, change, "
      "candidate_commit, policy_sha256, diff_sha256, evidence_sha256, level, cpus, memory, "
      "total_ms, approvals_needed, owners_needed, attempt_why, attempt, fence, infra_faults, "
      "rebases, cancel_by, overtaken, created_at, updated_at) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, '', '', '', '', '', '', ?, ?, ?, ?, '', ?, ?, ?, ?, ?, ?, ?, '', 0, 0, 0, '', 0, ?, ?)",
      {task.id,
       task.project,
       task.principal,
       task.title,
       tasks::intent_name(task.intent),
       task.priority,
       task.family,
       claims_to_json(task.claims),
       strings_to_json(task.steps),
       task_state_name(task.state),
       tasks::ingest_result_to_json(task.change),
       task.change.candidate.hex(),
       task.policy_sha256,
       task.diff_sha256,
       task.level,
       std::int64_t{task.cpus},
       task.memory,
       task.total_ms,
       std::int64_t{task.approvals_needed},
       std::int64_t{task.owners_needed},
       task.attempt_why,
       task.created_at,
       task.created_at}));
  return append_event(
      database,
      {.task = task.id, .project = task.project, .type = "task.queued", .at = task.created_at});
}

os::Result<TaskRow> get_task(Database& database, const std::string& id) {
  Statement row = TRY(database.query(select_tasks("WHERE id = ?"), {id}));
  if (!TRY(row.step())) return os::fail(os::Code::not_found, "there is no task " + id);
  return read_task(row);
}

os::Result<void> save_task(Database& database, const TaskRow& task) {
  return update(database, task, task.state);
}

os::Result<void> move_task(Database& database, TaskRow& task, TaskState to,
                           const std::string& event_data) {
  const TaskState from = task.state;
  if (!can_move(from, to))
    return os::fail(os::Code::conflict, "task " + task.id + " cannot go from " +
                                            std::string(task_state_name(from)) + " to " +
                                            std::string(task_state_name(to)));
  const std::string since =
      std::exchange(task.landing_since, landing_since_in(to, task.landing_since));
  task.state = to;
  os::Result<void> updated = update(database, task, from);
  if (!updated) {
    task.state = from;
    task.landing_since = since;
    return updated;
  }
  return append_event(database, {.task = task.id,
                                 .project = task.project,
                                 .type = "task." + std::string(task_state_name(to)),
                                 .at = now_text(),
                                 .data = event_data});
}

os::Result<std::vector<TaskRow>> tasks_in_state(Database& database, TaskState state) {
  return read_tasks(TRY(
      database.query(select_tasks("WHERE state = ? ORDER BY sequence"), {task_state_name(state)})));
}

// By two indexes: an OR over both columns would read the whole table, at each round of the
// promoter.
os::Result<std::vector<TaskRow>> landing_queue(Database& database, const std::string& project) {
  return read_tasks(
      TRY(database.query(select_tasks("WHERE id IN (SELECT id FROM tasks WHERE landing_since <> '' "
                                      "UNION SELECT id FROM tasks WHERE state = 'promoting') "
                                      "AND (?1 = '' OR project = ?1) "
                                      "ORDER BY project, landing_since, sequence"),
                         {project})));
}

os::Result<int> count_tasks(Database& database, TaskState state) {
  Statement row =
      TRY(database.query("SELECT count(*) FROM tasks WHERE state = ?", {task_state_name(state)}));
  TRY(row.step());
  return static_cast<int>(row.int64(0));
}

os::Result<std::vector<TaskRow>> list_tasks(Database& database, const TaskFilter& filter) {
  return read_tasks(TRY(database.query(
      select_tasks("WHERE (?1 = '' OR project = ?1) AND (?2 = '' OR state = ?2) AND "
                   "(?3 = '' OR principal = ?3) AND (?4 = '' OR sequence < "
                   "(SELECT sequence FROM tasks WHERE id = ?4)) ORDER BY sequence DESC LIMIT ?5"),
      {filter.project, filter.state, filter.principal, filter.after, std::int64_t{filter.limit}})));
}

os::Result<std::vector<TaskRow>> tasks_done_before(Database& database, const std::string& time,
                                                   int limit) {
  return read_tasks(TRY(database.query(
      select_tasks(
          "WHERE state = 'done' AND updated_at < ? AND EXISTS (SELECT 1 FROM evidence_refs "
          "WHERE owner = tasks.id) AND NOT EXISTS (SELECT 1 FROM promotions WHERE task = "
          "tasks.id AND state = 'done') ORDER BY sequence LIMIT ?"),
      {time, std::int64_t{limit}})));
}

os::Result<bool> is_task_live(Database& database, const std::string& id) {
  Statement row = TRY(database.query("SELECT 1 FROM tasks WHERE id = ? AND " + std::string(kIsLive),
                                     {id, now_text()}));
  return row.step();
}

os::Result<std::vector<TaskRow>> live_tasks(Database& database) {
  return read_tasks(TRY(database.query(
      select_tasks("WHERE " + std::string(kIsLive) + " ORDER BY sequence"), {now_text()})));
}

os::Result<std::optional<KeyRow>> find_key(Database& database, const std::string& principal,
                                           const std::string& key, const std::string& now) {
  Statement row =
      TRY(database.query("SELECT principal, key, body_sha256, task, expires_at FROM task_keys "
                         "WHERE principal = ? AND key = ? AND expires_at > ?",
                         {principal, key, now}));
  if (!TRY(row.step())) return std::optional<KeyRow>{};
  return std::optional(KeyRow{.principal = row.text(0),
                              .key = row.text(1),
                              .body_sha256 = row.text(2),
                              .task = row.text(3),
                              .expires_at = row.text(4)});
}

os::Result<void> insert_key(Database& database, const KeyRow& row, const std::string& now) {
  TRY(database.run("DELETE FROM task_keys WHERE principal = ? AND key = ? AND expires_at <= ?",
                   {row.principal, row.key, now}));
  TRY(
      database.run("INSERT INTO task_keys(principal, key, body_sha256, task, expires_at) "
                   "VALUES(?, ?, ?, ?, ?)",
                   {row.principal, row.key, row.body_sha256, row.task, row.expires_at}));
  return {};
}

os::Result<void> delete_keys_before(Database& database, const std::string& time) {
  TRY(database.run("DELETE FROM task_keys WHERE expires_at <= ?", {time}));
  return {};
}

}  // namespace runner::store
