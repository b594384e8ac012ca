#include "runner/promotion/approval_rules.h"

#include <algorithm>
#include <set>

namespace runner {
namespace {

bool names_all(const std::vector<std::string>& named, const std::vector<std::string>& asks) {
  return std::ranges::all_of(
      asks, [&](const std::string& ask) { return std::ranges::find(named, ask) != named.end(); });
}

// Gates that keep a change from landing.
std::vector<std::string> blocking_gates(const tasks::Policy& policy,
                                        const gates::Judgement& judgement) {
  std::vector<std::string> names;
  for (const gates::GateResult& gate : judgement.gates) {
    const tasks::Gate* const rule = policy.find_gate(gate.name);
    const bool may_stay_open = gate.status == gates::GateStatus::inconclusive && rule != nullptr &&
                               rule->inconclusive == tasks::Inconclusive::pass;
    if (gate.status != gates::GateStatus::passed && !may_stay_open)
      names.push_back(gate.name.str());
  }
  return names;
}

}  // namespace

ApprovalNeed approval_need(const tasks::Policy& policy, const std::vector<std::string>& guarded,
                           const gates::Judgement& judgement) {
  ApprovalNeed need;
  for (const tasks::GateName& gate : judgement.asks) need.asks.push_back(gate.str());
  need.owners = tasks::owner_approvals(policy, guarded);
  if (judgement.waits_for_owners) need.owners = std::max(need.owners, 1);
  need.approvals = policy.promotion.approvals;
  const bool lands_alone = judgement.verdict == gates::Verdict::accepted &&
                           !judgement.waits_for_owners && need.asks.empty() &&
                           policy.promotion.assurance && judgement.assurance &&
                           *judgement.assurance >= *policy.promotion.assurance &&
                           *judgement.assurance >= tasks::Assurance::out_of_process;
  if (need.approvals == 0 && !lands_alone) need.approvals = 1;
  if (can_land(judgement)) return need;
  need.overrides = blocking_gates(policy, judgement);
  need.owners = std::max(need.owners, kOverrideOwners);
  need.asks.clear();
  return need;
}

bool can_land(const gates::Judgement& judgement) {
  switch (judgement.verdict) {
    case gates::Verdict::accepted:
      return true;
    case gates::Verdict::inconclusive:
      return judgement.waits_for_owners || !judgement.asks.empty();
    case gates::Verdict::rejected:
    case gates::Verdict::error:
    case gates::Verdict::ran:
      return false;
  }
  return false;
}

std::vector<store::ApprovalRow> counting_approvals(const std::vector<store::ApprovalRow>& given,
                                                   const ApprovalBinding& binding,
                                                   const std::vector<std::string>& asks) {
  std::vector<store::ApprovalRow> counting;
  for (const store::ApprovalRow& row : given) {
    if (row.decision == Decision::approve && row.void_reason.empty() &&
        row.diff_digest == binding.diff_digest && row.policy_sha256 == binding.policy_sha256 &&
        names_all(row.gates, asks))
      counting.push_back(row);
  }
  return counting;
}

Missing missing_approvals(const ApprovalNeed& need,
                          const std::vector<store::ApprovalRow>& counting) {
  std::set<std::string> people;
  std::set<std::string> owners;
  for (const store::ApprovalRow& row : counting) {
    people.insert(row.chain);
    if (row.is_owner && names_all(row.overrides, need.overrides)) owners.insert(row.chain);
  }
  // Somebody has to have named what is asked, even where nothing else is needed.
  const int least = need.asks.empty() ? need.approvals : std::max(need.approvals, 1);
  return Missing{.approvals = std::max(0, least - static_cast<int>(people.size())),
                 .owners = std::max(0, need.owners - static_cast<int>(owners.size()))};
}

std::string changed_outcome(const gates::Judgement& seen, const gates::Judgement& now) {
  for (const gates::GateResult& gate : now.gates) {
    const auto before = std::ranges::find(seen.gates, gate.name, &gates::GateResult::name);
    if (before == seen.gates.end()) return "gate '" + gate.name.str() + "' is new";
    const auto words = [](const gates::GateResult& result) {
      return std::string(gates::gate_status_name(result.status)) + " (" +
             std::string(tasks::assurance_name(result.assurance)) + ")";
    };
    if (words(*before) != words(gate))
      return "gate '" + gate.name.str() + "' was " + words(*before) + " and is " + words(gate) +
             " on the new tip";
  }
  return seen.gates.size() == now.gates.size() ? "" : "a gate is gone";
}

bool suffices(const ApprovalNeed& need, const std::vector<store::ApprovalRow>& counting) {
  const Missing missing = missing_approvals(need, counting);
  return missing.approvals == 0 && missing.owners == 0;
}

}  // namespace runner
