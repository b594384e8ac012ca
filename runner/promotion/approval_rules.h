// Which approvals a change needs, and whether those given suffice. Pure.
#pragma once

#include <string>
#include <vector>

#include "gates/verdict.h"
#include "runner/store/records.h"
#include "tasks/policy.h"

namespace runner {

// What is needed before a change may land.
struct ApprovalNeed {
  int approvals = 0;              // of different people, owners included
  int owners = 0;                 // of different people with the role owner
  std::vector<std::string> asks;  // inconclusive gates that each approval must name
  bool is_nothing() const { return approvals == 0 && owners == 0 && asks.empty(); }
};

// The need of a judged change with intent promote. `approvals: 0` holds only for an accepted change
// whose assurance reaches the policy's; all else waits for one approval at least.
ApprovalNeed approval_need(const tasks::Policy& policy, const std::vector<std::string>& guarded,
                           const gates::Judgement& judgement);

// True if a verdict can land at all (with the approvals that it needs).
bool can_land(const gates::Judgement& judgement);

// What an approval must be about to count.
struct ApprovalBinding {
  std::string diff_digest;
  std::string policy_sha256;
};

// Approvals that count now: valid, about this diff and policy, naming all that is asked.
std::vector<store::ApprovalRow> counting_approvals(const std::vector<store::ApprovalRow>& given,
                                                   const ApprovalBinding& binding,
                                                   const std::vector<std::string>& asks);

// Different people are counted by the root of their owner chain.
bool suffices(const ApprovalNeed& need, const std::vector<store::ApprovalRow>& counting);

// How many approvals and owners' approvals are still missing.
struct Missing {
  int approvals = 0;
  int owners = 0;
};
Missing missing_approvals(const ApprovalNeed& need,
                          const std::vector<store::ApprovalRow>& counting);

}  // namespace runner
