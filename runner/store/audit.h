// The audit log in the database: appended to, never changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/store/sqlite.h"

namespace runner::store {

struct AuditRow {
  std::int64_t sequence = 0;
  std::string project;  // empty: none
  std::string entry;    // the line
};

// conflict: there is an entry of that number.
os::Result<void> insert_audit(Database& database, const AuditRow& row);
// Entries after `after`, in order, at most `limit`.
os::Result<std::vector<AuditRow>> audit_after(Database& database, std::int64_t after, int limit);

// The signed head; nothing before the first entry.
os::Result<std::optional<std::string>> find_audit_head(Database& database);
os::Result<void> put_audit_head(Database& database, const std::string& envelope);

}  // namespace runner::store
