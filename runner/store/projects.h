// Projects and stored packs in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

// conflict: the name is taken.
os::Result<void> insert_project(Database& database, const ProjectRow& row, const std::string& at);
os::Result<std::optional<ProjectRow>> find_project(Database& database, const std::string& name);
os::Result<std::vector<ProjectRow>> all_projects(Database& database);
// Why no promotion of the project may go on; empty: it may.
os::Result<void> freeze_project(Database& database, const std::string& name,
                                const std::string& why);

os::Result<void> insert_pack(Database& database, const PackRow& row);
os::Result<std::optional<PackRow>> find_pack(Database& database, const std::string& id);
// Packs made before `time`: nobody used them.
os::Result<std::vector<PackRow>> packs_before(Database& database, const std::string& time);
os::Result<void> delete_pack(Database& database, const std::string& id);
// Bytes of all stored packs of a principal.
os::Result<std::int64_t> pack_bytes_of(Database& database, const std::string& principal);

}  // namespace runner::store
