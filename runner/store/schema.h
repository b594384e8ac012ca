// The schema of proofhouse.db: numbered migrations, each applied once, in order.
#pragma once

#include "runner/store/sqlite.h"

namespace runner::store {

// The format number that this program writes (PRAGMA user_version).
inline constexpr int kSchemaVersion = 5;

// Brings a database to kSchemaVersion in one transaction. conflict: a newer program made it; it is
// left as it is.
os::Result<void> migrate(Database& database);

}  // namespace runner::store
