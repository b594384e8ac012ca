// The signed statements of a promotion: in-toto statements in DSSE envelopes.
//
// SLSA provenance v1 says from what and by which builder the commit was tested; test-result v0.1
// what passed; the verification summary v1 that it may land, with the whole receipt inside.
// Formats: in-toto/attestation spec/v1 and spec/predicates, slsa.dev/spec/v1.0.
#pragma once

#include <string>
#include <vector>

#include "runner/attest/notary.h"
#include "runner/attest/verify.h"
#include "runner/receipt.h"
#include "tasks/evidence.h"

namespace runner {

struct StatementFacts {
  const ReceiptFacts& receipt;
  std::string receipt_json;         // make_receipt(receipt)
  const tasks::Evidence& evidence;  // landing evidence, its reports loaded
  PolicyFileId policy;              // `blob` empty: the server held the policy
};

// Three envelopes, one a line.
std::string make_statements(const Notary& notary, const StatementFacts& facts);

}  // namespace runner
