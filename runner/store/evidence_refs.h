// Which blob of evidence/ is kept for whom, and the kept evidence of bases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/sqlite.h"

namespace runner::store {

// `owner`: a task's id, or "base/<key>".
os::Result<void> add_refs(Database& database, const std::string& owner,
                          const std::vector<std::string>& blobs);
os::Result<bool> has_ref(Database& database, const std::string& owner, const std::string& blob);
// Gives `to` all that `from` refers to.
os::Result<void> copy_refs(Database& database, const std::string& from, const std::string& to);
// Drops an owner's references; the blobs that nobody refers to any more.
os::Result<std::vector<std::string>> drop_refs(Database& database, const std::string& owner);
// True if anybody refers to the blob.
os::Result<bool> is_referenced(Database& database, const std::string& blob);

// Which blob shows the diff of another blob (a patch) as lines.
os::Result<void> put_diff_view(Database& database, const std::string& diff,
                               const std::string& view);
os::Result<std::optional<std::string>> find_diff_view(Database& database, const std::string& diff);

// The kept evidence of a base (digest of its blob), written once for each key.
os::Result<std::optional<std::string>> find_base(Database& database, const std::string& key);
os::Result<void> insert_base(Database& database, const std::string& key, const std::string& blob,
                             const std::string& at);
os::Result<void> touch_base(Database& database, const std::string& key, const std::string& at);
// Keys that were not used since `time`.
os::Result<std::vector<std::string>> bases_before(Database& database, const std::string& time);
os::Result<void> delete_base(Database& database, const std::string& key);

}  // namespace runner::store
