// What the service answers of tokens and of the audit log: values only.
#pragma once

#include <cstdint>
#include <string>

namespace runner {

// A token without its secret.
struct TokenView {
  std::string id, principal, minted_by, created_at, expires_at;
  std::string revoked_at, last_used_at;  // empty: not; last use to the minute
};

// A part of the audit log as it is kept: one entry a line.
struct AuditPage {
  std::string lines;
  std::int64_t last = 0;  // sequence of the last entry in it; 0: it is empty
};

}  // namespace runner
