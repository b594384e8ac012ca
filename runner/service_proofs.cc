// Proofs: signed statements, the key they are verified with, and the audit log.
#include "runner/service_core.h"
#include "runner/store/approvals.h"
#include "runner/store/audit.h"

namespace runner {
namespace {

constexpr int kEntriesAtOnce = 1000;

Answer<void> require_auditor(const Actor& actor) {
  if (actor.has(Role::admin, "*")) return {};
  return refuse("forbidden", "only an administrator reads the audit log", "ask an administrator");
}

}  // namespace

Answer<std::string> ServiceCore::attestations(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  const auto row = ASK(store_->read(
      [&](store::Database& database) { return store::find_promotion(database, task.id); }));
  if (!row || row->statements.empty())
    return refuse("not_found", "task " + id + " did not land: there are no statements of it",
                  "look at the task");
  return row->statements;
}

std::string ServiceCore::public_key() { return notary_.key().public_key().pem(); }

Answer<AuditPage> ServiceCore::audit(const Actor& actor, std::int64_t after) {
  ASK(require_auditor(actor));
  AuditPage page;
  for (const store::AuditRow& row : ASK(store_->read([&](store::Database& database) {
         return store::audit_after(database, after, kEntriesAtOnce);
       }))) {
    page.lines += row.entry + "\n";
    page.last = row.sequence;
  }
  return page;
}

Answer<std::string> ServiceCore::audit_head(const Actor& actor) {
  ASK(require_auditor(actor));
  const auto head = ASK(store_->read(store::find_audit_head));
  if (!head) return refuse("not_found", "the audit log is empty", "nothing was decided yet");
  return *head;
}

}  // namespace runner
