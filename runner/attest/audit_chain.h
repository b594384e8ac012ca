// The audit log's form: entries chained by digests, and a signed head. Pure; who writes it is
// audit_log.h.
//
// An entry is one line of canonical JSON: {schema:1, sequence, at, boot, type, actor, project,
// subject, data:{…}, previous}; `previous` is SHA-256 of the line before it (64 zeros for the
// first). The head is a DSSE envelope over {schema:1, instance, sequence, sha256}: the last line's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sandbox/os/signature.h"

namespace runner {

inline constexpr std::string_view kAuditHeadType = "application/vnd.proofhouse.audit-head+json";

// A decision: what happened to `subject`, by whom.
struct AuditEvent {
  std::string type;     // "approval.given", "token.minted" …
  std::string actor;    // principal; "serve" where nobody asked
  std::string project;  // empty: none
  std::string subject;  // id of a task or token, name of a principal …
  std::vector<std::pair<std::string, std::string>> data;
};

struct AuditEntry {
  std::int64_t sequence = 0;  // from 1 up, without gaps
  std::string at;             // RFC 3339 UTC
  std::string boot;           // random name of the serve that wrote it
  AuditEvent event;
  std::string previous;
};

struct AuditHead {
  std::string instance;
  std::int64_t sequence = 0;  // 0: the log is empty
  std::string sha256;         // of the last line
};

// `previous` of the first entry.
std::string audit_origin();

std::string to_line(const AuditEntry& entry);
os::Result<AuditEntry> parse_audit_line(std::string_view line);
std::string make_head(const os::SigningKey& key, const AuditHead& head);
// Without looking at the signature.
os::Result<AuditHead> parse_head(std::string_view envelope);

// Follows a log line by line and says what is wrong with it. Not thread-safe.
class AuditVerifier {
 public:
  // The next line. After a problem the walk goes on from what is there, so that one fault is
  // told once.
  void add(std::string_view line);
  // A head that was kept elsewhere earlier: the log must hold it still. Before the lines.
  void expect(const AuditHead& earlier);
  // The end of the log: `head` must be of the last line and signed by `key`.
  void finish(std::string_view head_envelope, const os::PublicKey& key);

  const std::vector<std::string>& problems() const { return problems_; }
  std::int64_t entries() const { return entries_; }

 private:
  void problem(std::string text);

  std::vector<AuditHead> earlier_;
  std::vector<std::string> problems_;
  std::int64_t entries_ = 0;
  std::int64_t sequence_ = 0;  // of the last entry
  std::string digest_ = audit_origin();
};

}  // namespace runner
