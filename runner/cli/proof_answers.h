// Answers about keys, tokens and statements: from the server's JSON, and to ours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/attest/verify.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// The PEM of the first key of /v1/keys.
os::Result<std::string> read_key(std::string_view json);

struct TokenAnswer {
  std::string id, principal, minted_by, expires_at, revoked_at, last_used_at;
};
os::Result<std::vector<TokenAnswer>> read_tokens(std::string_view json);

// {schema:1, commit, holds, task, project, target, builder, assurance, approvals, overrides,
// self_approved, mismatches:[{statement, field, detail}]}
std::string attested_json(const std::string& commit, const Attested& attested);

}  // namespace runner::cli
