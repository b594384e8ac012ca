// The durable sequence of events: each row id is the id of a server-sent event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

os::Result<void> append_event(Database& database, const EventRow& event);
// After `after`, of one task or (empty) of all, in order, at most `limit`.
os::Result<std::vector<EventRow>> events_after(Database& database, const std::string& task,
                                               std::int64_t after, int limit);
// The task's newest event of an attempt's start or end or of a GPU: whether a step waits for one.
os::Result<std::optional<EventRow>> last_gpu_event(Database& database, const std::string& task);
// Events of tasks that ended before `time` are removed.
os::Result<void> delete_events_before(Database& database, const std::string& time);

// Id of the newest event; 0: there is none.
os::Result<std::int64_t> latest_event(Database& database);

}  // namespace runner::store
