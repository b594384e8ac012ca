// Approvals and promotions in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

// An earlier valid decision of the same principal on the task is voided ("replaced").
os::Result<void> insert_approval(Database& database, const ApprovalRow& approval);
// In the order given, void ones too.
os::Result<std::vector<ApprovalRow>> approvals_of(Database& database, const std::string& task);
// Voids all that are valid; how many.
os::Result<std::int64_t> void_approvals(Database& database, const std::string& task,
                                        const std::string& reason);

// Notes that the ref is about to move; a row of the same task in state moving or failed is
// replaced. conflict: the task is promoted already.
os::Result<void> begin_promotion(Database& database, const PromotionRow& promotion);
os::Result<std::optional<PromotionRow>> find_promotion(Database& database, const std::string& task);
// moving -> done with receipt, statements and notes, or -> failed. conflict: it is not moving.
os::Result<void> end_promotion(Database& database, const PromotionRow& promotion);
// Whose statements are still to be copied to the repository; at most 100.
os::Result<std::vector<PromotionRow>> promotions_with_due_notes(Database& database);
os::Result<void> mark_noted(Database& database, const std::string& task);

}  // namespace runner::store
