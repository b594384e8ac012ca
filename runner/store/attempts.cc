#include "runner/store/attempts.h"

#include <charconv>

namespace runner::store {
namespace {

constexpr std::string_view kColumns =
    "id, fence, task, state, why, cpus, memory, stop_reason, coalesce(result, ''), "
    "events_offset, deadline_at, started_at, finished_at";

std::string select(std::string_view rest) {
  return "SELECT " + std::string(kColumns) + " FROM attempts " + std::string(rest);
}

// "0,3,4"
std::string cpus_text(const std::vector<int>& cpus) {
  std::string text;
  for (const int cpu : cpus) text += (text.empty() ? "" : ",") + std::to_string(cpu);
  return text;
}

os::Result<std::vector<int>> parse_cpus(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    int cpu = 0;
    const auto [end, error] = std::from_chars(one.begin(), one.end(), cpu);
    if (error != std::errc{} || end != one.end())
      return os::fail(os::Code::corrupt, "a lease does not name CPUs");
    cpus.push_back(cpu);
    text.remove_prefix(std::min(text.size(), one.size() + 1));
  }
  return cpus;
}

os::Result<AttemptRow> read_attempt(const Statement& row) {
  return AttemptRow{.id = row.text(0),
                    .fence = row.int64(1),
                    .task = row.text(2),
                    .state = TRY(parse_attempt_row_state(row.text(3))),
                    .why = row.text(4),
                    .cpus = TRY(parse_cpus(row.text(5))),
                    .memory = row.int64(6),
                    .stop_reason = row.text(7),
                    .result_sha256 = row.text(8),
                    .events_offset = row.int64(9),
                    .deadline_at = row.text(10),
                    .started_at = row.text(11),
                    .finished_at = row.text(12)};
}

os::Result<std::vector<AttemptRow>> read_all(Statement row) {
  std::vector<AttemptRow> attempts;
  while (TRY(row.step())) attempts.push_back(TRY(read_attempt(row)));
  return attempts;
}

}  // namespace

std::string_view attempt_row_state_name(AttemptRowState state) {
  switch (state) {
    case AttemptRowState::created:
      return "created";
    case AttemptRowState::started:
      return "started";
    case AttemptRowState::finished:
      return "finished";
    case AttemptRowState::lost:
      return "lost";
  }
  return "lost";
}

os::Result<AttemptRowState> parse_attempt_row_state(std::string_view name) {
  for (const AttemptRowState state : {AttemptRowState::created, AttemptRowState::started,
                                      AttemptRowState::finished, AttemptRowState::lost}) {
    if (attempt_row_state_name(state) == name) return state;
  }
  return os::fail(os::Code::corrupt, "no attempt's state is '" + std::string(name) + "'");
}

os::Result<void> insert_attempt(Database& database, const AttemptRow& attempt) {
  TRY(database.run(
      "INSERT INTO attempts(id, fence, task, state, why, cpus, memory, stop_reason, "
      "events_offset, deadline_at, started_at, finished_at) VALUES(?, ?, ?, ?, ?, ?, ?, '', 0, "
      "?, ?, '')",
      {attempt.id, attempt.fence, attempt.task, attempt_row_state_name(attempt.state), attempt.why,
       cpus_text(attempt.cpus), attempt.memory, attempt.deadline_at, attempt.started_at}));
  return {};
}

os::Result<std::optional<AttemptRow>> find_attempt(Database& database, const std::string& id,
                                                   std::int64_t fence) {
  Statement row = TRY(database.query(select("WHERE id = ? AND fence = ?"), {id, fence}));
  if (!TRY(row.step())) return std::optional<AttemptRow>{};
  return std::optional(TRY(read_attempt(row)));
}

os::Result<std::vector<AttemptRow>> attempts_of(Database& database, const std::string& task) {
  return read_all(TRY(database.query(select("WHERE task = ? ORDER BY fence"), {task})));
}

os::Result<std::vector<AttemptRow>> active_attempts(Database& database) {
  return read_all(
      TRY(database.query(select("WHERE state IN ('created', 'started') ORDER BY id, fence"))));
}

os::Result<void> mark_started(Database& database, const AttemptRow& attempt,
                              const std::string& at) {
  TRY(
      database.run("UPDATE attempts SET state = 'started', started_at = ? "
                   "WHERE id = ? AND fence = ? AND state = 'created'",
                   {at, attempt.id, attempt.fence}));
  return {};
}

os::Result<void> take_result(Database& database, const AttemptRow& attempt,
                             const std::string& result_sha256, const std::string& at) {
  const std::int64_t changed = TRY(database.run(
      "UPDATE attempts SET state = 'finished', result = ?, finished_at = ? WHERE id = ? "
      "AND fence = ? AND result IS NULL AND state IN ('created', 'started')",
      {result_sha256, at, attempt.id, attempt.fence}));
  if (changed != 1)
    return os::fail(os::Code::conflict, "attempt " + attempt.id + "/" +
                                            std::to_string(attempt.fence) + " has ended already");
  return {};
}

os::Result<void> mark_lost(Database& database, const AttemptRow& attempt, const std::string& at) {
  const std::int64_t changed = TRY(
      database.run("UPDATE attempts SET state = 'lost', finished_at = ? WHERE id = ? AND fence = ? "
                   "AND state IN ('created', 'started')",
                   {at, attempt.id, attempt.fence}));
  if (changed != 1)
    return os::fail(os::Code::conflict, "attempt " + attempt.id + " has ended already");
  return {};
}

os::Result<void> set_stop_reason(Database& database, const AttemptRow& attempt,
                                 const std::string& reason) {
  TRY(
      database.run("UPDATE attempts SET stop_reason = ? WHERE id = ? AND fence = ? AND "
                   "stop_reason = ''",
                   {reason, attempt.id, attempt.fence}));
  return {};
}

os::Result<void> set_events_offset(Database& database, const AttemptRow& attempt,
                                   std::int64_t offset) {
  TRY(database.run("UPDATE attempts SET events_offset = ? WHERE id = ? AND fence = ?",
                   {offset, attempt.id, attempt.fence}));
  return {};
}

}  // namespace runner::store
