#include "runner/attest/audit_log.h"

#include "runner/attest/dsse.h"
#include "runner/clock.h"
#include "runner/store/audit.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

constexpr std::size_t kBootBytes = 8;

}  // namespace

AuditLog::AuditLog(const Notary& notary) : notary_(notary), boot_(os::random_hex(kBootBytes)) {}

os::Result<void> AuditLog::append(store::Database& database, const AuditEvent& event) const {
  AuditHead head{.instance = notary_.instance(), .sequence = 0, .sha256 = audit_origin()};
  // Not the last row: an entry that was altered must not be what the next one confirms.
  if (const auto kept = TRY(store::find_audit_head(database))) {
    TRY_CONTEXT(check_signature(TRY(parse_envelope(*kept)), notary_.key().public_key()),
                "head of the audit log");
    head = TRY_CONTEXT(parse_head(*kept), "head of the audit log");
  }
  const AuditEntry entry{.sequence = head.sequence + 1,
                         .at = now_text(),
                         .boot = boot_,
                         .event = event,
                         .previous = head.sha256};
  const std::string line = to_line(entry);
  TRY(store::insert_audit(database,
                          {.sequence = entry.sequence, .project = event.project, .entry = line}));
  return store::put_audit_head(database,
                               make_head(notary_.key(), {.instance = notary_.instance(),
                                                         .sequence = entry.sequence,
                                                         .sha256 = os::sha256(line).hex()}));
}

}  // namespace runner
