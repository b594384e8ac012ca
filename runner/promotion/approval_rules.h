// Which approvals a change needs, and whether those given suffice. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gates/verdict.h"
#include "runner/store/records.h"
#include "tasks/policy.h"

namespace runner {

// Owners of different chains, none of them the author's, who must override the same gates.
inline constexpr int kOverrideOwners = 2;
// How long the gates of a task that is done may be overridden.
inline constexpr std::chrono::hours kOverrideWindow{24 * 7};

// What is needed before a change may land.
struct ApprovalNeed {
  int approvals = 0;              // of different people, owners included
  int owners = 0;                 // of different people with the role owner
  std::vector<std::string> asks;  // inconclusive gates that each approval must name
  // Gates that did not pass and would keep the change from landing: each owner counts only if the
  // approval overrides all of them by name.
  std::vector<std::string> overrides = {};
  bool is_nothing() const {
    return approvals == 0 && owners == 0 && asks.empty() && overrides.empty();
  }
};

// The need of a judged change with intent promote. `approvals: 0` holds only for an accepted change
// whose assurance reaches the policy's; all else waits for one approval at least.
ApprovalNeed approval_need(const tasks::Policy& policy, const std::vector<std::string>& guarded,
                           const gates::Judgement& judgement);

// True if a verdict can land (with the approvals that it needs) though no gate is overridden.
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

// What differs between the gates' outcomes that a reviewer saw and those of a later attempt, in
// words; empty: they are alike (status and assurance; figures may differ).
std::string changed_outcome(const gates::Judgement& seen, const gates::Judgement& now);

// How many approvals and owners' approvals are still missing.
struct Missing {
  int approvals = 0;
  int owners = 0;
};
Missing missing_approvals(const ApprovalNeed& need,
                          const std::vector<store::ApprovalRow>& counting);

}  // namespace runner
