// Tasks and their idempotency keys in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

// Inserts a new task with its first event; its `sequence` is set by the database.
os::Result<void> insert_task(Database& database, const TaskRow& task);
// not_found when there is none.
os::Result<TaskRow> get_task(Database& database, const std::string& id);
// Writes all changeable columns; the state must be the stored one.
os::Result<void> save_task(Database& database, const TaskRow& task);
// Saves `task` in the new state, with an event "task.<state>". conflict: it may not go there, or
// the stored state is no longer task.state (nothing is changed then). Who comes to promoting enters
// the promotion queue, and stays in it while it is tested on a new tip; who waits for an approval
// or is done has left it.
os::Result<void> move_task(Database& database, TaskRow& task, TaskState to,
                           const std::string& event_data = "{}");

// In order of admission.
os::Result<std::vector<TaskRow>> tasks_in_state(Database& database, TaskState state);
// Tasks in the promotion queue of a project, or (empty) of all, by project and then by when they
// entered it.
os::Result<std::vector<TaskRow>> landing_queue(Database& database, const std::string& project);
os::Result<int> count_tasks(Database& database, TaskState state);
// Newest first, after the task `filter.after`; at most filter.limit.
os::Result<std::vector<TaskRow>> list_tasks(Database& database, const TaskFilter& filter);
// Ended before `time`, oldest first, at most `limit`, with evidence or a quarantine still kept.
os::Result<std::vector<TaskRow>> tasks_done_before(Database& database, const std::string& time,
                                                   int limit);
// True for a task that is not done, or that owners may still override.
os::Result<bool> is_task_live(Database& database, const std::string& id);
// All such tasks, in order of admission.
os::Result<std::vector<TaskRow>> live_tasks(Database& database);

// The task that an unexpired key stands for.
os::Result<std::optional<KeyRow>> find_key(Database& database, const std::string& principal,
                                           const std::string& key, const std::string& now);
// conflict: an unexpired row has the key. An expired one is replaced.
os::Result<void> insert_key(Database& database, const KeyRow& row, const std::string& now);
os::Result<void> delete_keys_before(Database& database, const std::string& time);

}  // namespace runner::store
