#include "runner/store/audit.h"

#include "runner/store/people.h"

namespace runner::store {
namespace {

const std::string kHeadKey = "audit_head";

}  // namespace

os::Result<void> insert_audit(Database& database, const AuditRow& row) {
  TRY(database.run("INSERT INTO audit(sequence, project, entry) VALUES(?, ?, ?)",
                   {row.sequence, row.project, row.entry}));
  return {};
}

os::Result<std::vector<AuditRow>> audit_after(Database& database, std::int64_t after, int limit) {
  Statement row = TRY(database.query(
      "SELECT sequence, project, entry FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?",
      {after, std::int64_t{limit}}));
  std::vector<AuditRow> rows;
  while (TRY(row.step()))
    rows.push_back(
        AuditRow{.sequence = row.int64(0), .project = row.text(1), .entry = row.text(2)});
  return rows;
}

os::Result<std::optional<std::string>> find_audit_head(Database& database) {
  return find_meta(database, kHeadKey);
}

os::Result<void> put_audit_head(Database& database, const std::string& envelope) {
  return put_meta(database, kHeadKey, envelope);
}

}  // namespace runner::store
