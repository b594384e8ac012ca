// Conclusion: what the end of an attempt means for its task. Pure: changes the row's values, stores
// nothing; the caller moves the task to the state that is answered.
#pragma once

#include <string>
#include <vector>

#include "gates/verdict.h"
#include "runner/store/records.h"
#include "tasks/policy.h"

namespace runner {

// Faults of ours are tried again this often, each time on another lease.
inline constexpr int kMaxInfraFaults = 2;

// A completed attempt was judged: done, awaiting_approval, or promoting where what was given before
// (a clean rebase keeps approvals) or nothing at all is enough. A verdict that cannot land is done
// unless its gates are overridden already; where the policy lets owners do that, override_until
// says how long.
TaskState conclude_judged(store::TaskRow& task, const tasks::Policy& policy,
                          const gates::Judgement& judgement,
                          const std::vector<store::ApprovalRow>& given);

// An attempt ended by a fault of ours or was lost: queued again, or done as error, class infra.
enum class Retry : std::uint8_t { allowed, useless };
TaskState conclude_fault(store::TaskRow& task, const std::string& detail, Retry retry);

// An attempt that we asked to stop. "cancel": cancelled; "deadline": rejected, class limit.
TaskState conclude_stopped(store::TaskRow& task, const std::string& stop_reason);

// Ends a task by a decision: verdict rejected, class review.
void conclude_review(store::TaskRow& task, const std::string& code, const std::string& reason,
                     const std::string& next_step);

// Ends a task that somebody cancelled.
void conclude_cancelled(store::TaskRow& task);

}  // namespace runner
