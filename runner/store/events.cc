#include "runner/store/events.h"

namespace runner::store {
namespace {

constexpr const char* kEventColumns = "SELECT id, task, project, type, at, data FROM events ";

EventRow event_of_row(const Statement& row) {
  return {.id = row.int64(0),
          .task = row.text(1),
          .project = row.text(2),
          .type = row.text(3),
          .at = row.text(4),
          .data = row.text(5)};
}

}  // namespace

os::Result<void> append_event(Database& database, const EventRow& event) {
  TRY(database.run("INSERT INTO events(task, project, type, at, data) VALUES(?, ?, ?, ?, ?)",
                   {event.task, event.project, event.type, event.at, event.data}));
  return {};
}

os::Result<std::vector<EventRow>> events_after(Database& database, const std::string& task,
                                               std::int64_t after, int limit) {
  const std::string columns = kEventColumns;
  Statement row =
      task.empty() ? TRY(database.query(columns + "WHERE id > ? ORDER BY id LIMIT ?",
                                        {after, std::int64_t{limit}}))
                   : TRY(database.query(columns + "WHERE task = ? AND id > ? ORDER BY id LIMIT ?",
                                        {task, after, std::int64_t{limit}}));
  std::vector<EventRow> events;
  while (TRY(row.step())) events.push_back(event_of_row(row));
  return events;
}

os::Result<std::optional<EventRow>> last_gpu_event(Database& database, const std::string& task) {
  Statement row = TRY(database.query(std::string(kEventColumns) +
                                         "WHERE task = ? AND (type LIKE 'gpu.%' OR type LIKE "
                                         "'attempt.%') ORDER BY id DESC LIMIT 1",
                                     {task}));
  if (!TRY(row.step())) return std::nullopt;
  return event_of_row(row);
}

os::Result<void> delete_events_before(Database& database, const std::string& time) {
  TRY(
      database.run("DELETE FROM events WHERE at < ? AND NOT EXISTS "
                   "(SELECT 1 FROM tasks WHERE id = events.task AND state <> 'done')",
                   {time}));
  return {};
}

os::Result<std::int64_t> latest_event(Database& database) {
  Statement row = TRY(database.query("SELECT coalesce(max(id), 0) FROM events"));
  if (!TRY(row.step())) return os::fail(os::Code::internal, "no newest event");
  return row.int64(0);
}

}  // namespace runner::store
