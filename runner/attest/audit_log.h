// AuditLog: writes the audit log (audit_chain.h has its form).
#pragma once

#include <string>

#include "runner/attest/audit_chain.h"
#include "runner/attest/notary.h"
#include "runner/store/sqlite.h"

namespace runner {

// Appends in the caller's transaction, so that no decision is kept without its entry, nor an entry
// without its decision. Safe from the database's writer.
class AuditLog {
 public:
  // The notary outlives this object.
  explicit AuditLog(const Notary& notary);
  // Chains the event to the signed head and signs the new one. corrupt: the head was not signed by
  // our key.
  os::Result<void> append(store::Database& database, const AuditEvent& event) const;

 private:
  const Notary& notary_;
  std::string boot_;
};

}  // namespace runner
