// Receipt: what landed, on which evidence, by whose decision, and what was read back.
#pragma once

#include <string>
#include <vector>

#include "runner/store/records.h"

namespace runner {

// What a receipt is made of.
struct ReceiptFacts {
  store::TaskRow task;
  Project project;
  std::string old_commit;
  std::string new_commit;
  std::string read_back_commit;  // what the target was when it was read back
  std::string read_back_tree;
  std::vector<store::ApprovalRow> approvals;  // that counted
  bool self_approved = false;                 // by the author's own chain, as the policy allows
  std::string at;
  std::vector<std::string> overridden = {};  // gates that did not pass and owners overrode
};

// JSON, canonical: {schema:1, task, project, target, old, new, tree, diff_digest, policy_sha256,
// evidence_sha256, attempt, fence, verdict, assurance, gates:[…], guarded:[…], approvals:[…],
// overridden:[…], self_approved, read_back:{commit, tree}, sandbox_level, at}.
std::string make_receipt(const ReceiptFacts& facts);

// JSON of all that an approval is about: project, target, commit, diff digest, policy digest,
// guarded list, claims, gates accepted or overridden by name, reviewer, decision.
std::string make_approval_binding(const store::TaskRow& task, const Project& project,
                                  const store::ApprovalRow& approval);

}  // namespace runner
