// Verifying the statements of a promotion against a clone, without a server.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/signature.h"

namespace runner {

// The policy file of a commit: its git blob and the SHA-256 of its bytes.
struct PolicyFileId {
  std::string blob;
  std::string sha256;
};

// What verifying asks of the clone. Ids are 40 hexadecimal digits.
class CloneView {
 public:
  virtual ~CloneView() = default;
  virtual os::Result<std::string> tree_of(const std::string& commit) = 0;
  virtual os::Result<bool> descends(const std::string& commit, const std::string& ancestor) = 0;
  // not_found: the commit has no policy file.
  virtual os::Result<PolicyFileId> policy_of(const std::string& commit) = 0;
};

// What is verified.
struct VerifyOrder {
  std::string commit;  // that is said to have been promoted
  // SHA-256 of a policy file given by hand; needed where the server held the policy.
  std::optional<std::string> policy_sha256;
};

// Something that does not hold.
struct Mismatch {
  std::string statement;  // provenance, test_result, verification_summary, or "line 2"
  std::string field;      // "subject[0].digest.gitCommit"
  std::string detail;
};

struct Attested {
  std::vector<Mismatch> mismatches;  // empty: everything holds
  // What the statements say, for people; meaningless with mismatches.
  std::string project, target, task, base, builder, assurance;
  std::vector<std::string> approvals;  // "rex (owner)"
  std::vector<std::string> overrides;  // gates that owners overrode
  bool self_approved = false;
};

// Checks a bundle (one envelope a line): three statements signed by `key` that agree with each
// other and with the clone. Every field that does not hold is named, whether or not the signature
// does.
Attested verify_bundle(std::string_view bundle, const os::PublicKey& key, const VerifyOrder& order,
                       CloneView& clone);

}  // namespace runner
