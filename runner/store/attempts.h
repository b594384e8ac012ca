// Attempts in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

os::Result<void> insert_attempt(Database& database, const AttemptRow& attempt);
os::Result<std::optional<AttemptRow>> find_attempt(Database& database, const std::string& id,
                                                   std::int64_t fence);
// Oldest fence first.
os::Result<std::vector<AttemptRow>> attempts_of(Database& database, const std::string& task);
// All that are created or started.
os::Result<std::vector<AttemptRow>> active_attempts(Database& database);

// created -> started; a later state stays as it is.
os::Result<void> mark_started(Database& database, const AttemptRow& attempt, const std::string& at);
// Takes a result: exactly one for each (id, fence). conflict: one was taken, or it was given up.
os::Result<void> take_result(Database& database, const AttemptRow& attempt,
                             const std::string& result_sha256, const std::string& at);
// Gives an active attempt up without a result. conflict: it is not active.
os::Result<void> mark_lost(Database& database, const AttemptRow& attempt, const std::string& at);
// Notes why we ask it to stop; the first reason stays.
os::Result<void> set_stop_reason(Database& database, const AttemptRow& attempt,
                                 const std::string& reason);
// Notes how much of events.jsonl is in the table.
os::Result<void> set_events_offset(Database& database, const AttemptRow& attempt,
                                   std::int64_t offset);

}  // namespace runner::store
