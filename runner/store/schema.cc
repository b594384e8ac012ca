#include "runner/store/schema.h"

#include <array>
#include <string>

namespace runner::store {
namespace {

// Times are RFC 3339 UTC text of one length, so that they compare as text. JSON columns hold values
// that are never searched.
constexpr const char* kFirst = R"sql(
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE principals(
  name TEXT PRIMARY KEY, owner TEXT NOT NULL, created_at TEXT NOT NULL) STRICT;
CREATE TABLE grants(
  principal TEXT NOT NULL REFERENCES principals(name), project TEXT NOT NULL, role TEXT NOT NULL,
  PRIMARY KEY(principal, project, role)) STRICT, WITHOUT ROWID;
CREATE TABLE tokens(
  sha256 TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  principal TEXT NOT NULL REFERENCES principals(name),
  created_at TEXT NOT NULL, expires_at TEXT NOT NULL, revoked_at TEXT) STRICT;
CREATE TABLE projects(
  name TEXT PRIMARY KEY, repository TEXT NOT NULL, url TEXT NOT NULL, target TEXT NOT NULL,
  authority TEXT NOT NULL, policy_yaml TEXT NOT NULL, frozen TEXT NOT NULL,
  created_at TEXT NOT NULL) STRICT;
CREATE TABLE packs(
  id TEXT PRIMARY KEY, project TEXT NOT NULL REFERENCES projects(name), principal TEXT NOT NULL,
  bytes INTEGER NOT NULL, created_at TEXT NOT NULL) STRICT;
CREATE TABLE tasks(
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL REFERENCES projects(name), principal TEXT NOT NULL, title TEXT NOT NULL,
  intent TEXT NOT NULL, priority TEXT NOT NULL, family TEXT NOT NULL,
  claims TEXT NOT NULL, steps TEXT NOT NULL,
  state TEXT NOT NULL, verdict TEXT NOT NULL, failure_class TEXT NOT NULL,
  judgement TEXT NOT NULL, reason_code TEXT NOT NULL, reason TEXT NOT NULL,
  next_step TEXT NOT NULL,
  change TEXT NOT NULL, candidate_commit TEXT NOT NULL,
  policy_sha256 TEXT NOT NULL, diff_sha256 TEXT NOT NULL, evidence_sha256 TEXT NOT NULL,
  level TEXT NOT NULL,
  cpus INTEGER NOT NULL, memory INTEGER NOT NULL, total_ms INTEGER NOT NULL,
  approvals_needed INTEGER NOT NULL, owners_needed INTEGER NOT NULL,
  attempt_why TEXT NOT NULL, attempt TEXT NOT NULL, fence INTEGER NOT NULL,
  infra_faults INTEGER NOT NULL, rebases INTEGER NOT NULL, cancel_by TEXT NOT NULL,
  overtaken INTEGER NOT NULL,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
CREATE INDEX tasks_by_state ON tasks(state, sequence);
CREATE INDEX tasks_by_project ON tasks(project, sequence);
CREATE TABLE task_keys(
  principal TEXT NOT NULL, key TEXT NOT NULL, body_sha256 TEXT NOT NULL,
  task TEXT NOT NULL REFERENCES tasks(id), expires_at TEXT NOT NULL,
  PRIMARY KEY(principal, key)) STRICT, WITHOUT ROWID;
CREATE TABLE attempts(
  id TEXT NOT NULL, fence INTEGER NOT NULL, task TEXT NOT NULL REFERENCES tasks(id),
  state TEXT NOT NULL, why TEXT NOT NULL, cpus TEXT NOT NULL, memory INTEGER NOT NULL,
  stop_reason TEXT NOT NULL, result TEXT, events_offset INTEGER NOT NULL,
  deadline_at TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT NOT NULL,
  PRIMARY KEY(id, fence)) STRICT, WITHOUT ROWID;
CREATE INDEX attempts_by_task ON attempts(task, fence);
CREATE INDEX attempts_by_state ON attempts(state);
CREATE TABLE events(
  id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL, project TEXT NOT NULL,
  type TEXT NOT NULL, at TEXT NOT NULL, data TEXT NOT NULL) STRICT;
CREATE INDEX events_by_task ON events(task, id);
CREATE TABLE approvals(
  id INTEGER PRIMARY KEY AUTOINCREMENT, task TEXT NOT NULL REFERENCES tasks(id),
  principal TEXT NOT NULL, chain TEXT NOT NULL, is_owner INTEGER NOT NULL,
  decision TEXT NOT NULL, reason TEXT NOT NULL, gates TEXT NOT NULL, binding TEXT NOT NULL,
  candidate_commit TEXT NOT NULL, diff_digest TEXT NOT NULL, policy_sha256 TEXT NOT NULL,
  void_reason TEXT NOT NULL, at TEXT NOT NULL) STRICT;
CREATE INDEX approvals_by_task ON approvals(task, id);
CREATE TABLE promotions(
  task TEXT PRIMARY KEY REFERENCES tasks(id), project TEXT NOT NULL, target TEXT NOT NULL,
  old_commit TEXT NOT NULL, new_commit TEXT NOT NULL, state TEXT NOT NULL,
  receipt TEXT NOT NULL, at TEXT NOT NULL) STRICT;
CREATE TABLE evidence_refs(
  owner TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY(owner, sha256)) STRICT, WITHOUT ROWID;
CREATE INDEX evidence_refs_by_blob ON evidence_refs(sha256);
CREATE TABLE base_evidence(
  key TEXT PRIMARY KEY, sha256 TEXT NOT NULL, created_at TEXT NOT NULL, used_at TEXT NOT NULL)
  STRICT;
)sql";

// Browser sessions, and diffs as lines.
constexpr const char* kSessions = R"sql(
CREATE TABLE login_codes(
  sha256 TEXT PRIMARY KEY, principal TEXT NOT NULL REFERENCES principals(name),
  token TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL) STRICT;
CREATE TABLE sessions(
  sha256 TEXT PRIMARY KEY, principal TEXT NOT NULL REFERENCES principals(name),
  token TEXT NOT NULL, created_at TEXT NOT NULL, expires_at TEXT NOT NULL) STRICT;
CREATE TABLE diff_views(diff TEXT PRIMARY KEY, view TEXT NOT NULL) STRICT;
)sql";

constexpr const char* kBenchmarkTests = R"sql(
CREATE TABLE benchmark_tests(
  task TEXT NOT NULL REFERENCES tasks(id), gate TEXT NOT NULL, project TEXT NOT NULL,
  scope TEXT NOT NULL, paths TEXT NOT NULL, passed INTEGER NOT NULL, at TEXT NOT NULL,
  PRIMARY KEY(task, gate)) STRICT, WITHOUT ROWID;
CREATE INDEX benchmark_tests_by_scope ON benchmark_tests(project, gate, scope, at);
)sql";

// Proof: the audit log (append-only, also for whoever writes SQL by hand), statements and notes of
// promotions, who minted whom, overrides.
constexpr const char* kProof = R"sql(
CREATE TABLE audit(
  sequence INTEGER PRIMARY KEY, project TEXT NOT NULL, entry TEXT NOT NULL) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
ALTER TABLE principals ADD COLUMN minted_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN minted_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN last_used_at TEXT NOT NULL DEFAULT '';
ALTER TABLE approvals ADD COLUMN overrides TEXT NOT NULL DEFAULT '[]';
ALTER TABLE promotions ADD COLUMN statements TEXT NOT NULL DEFAULT '';
ALTER TABLE promotions ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN override_until TEXT NOT NULL DEFAULT '';
)sql";

// The promotion queue: since when a task is in it; empty: it is not.
constexpr const char* kQueue = R"sql(
ALTER TABLE tasks ADD COLUMN landing_since TEXT NOT NULL DEFAULT '';
UPDATE tasks SET landing_since = updated_at WHERE state = 'promoting';
CREATE INDEX tasks_landing ON tasks(project, landing_since) WHERE landing_since <> '';
)sql";

constexpr std::array<const char*, kSchemaVersion> kMigrations{kFirst, kSessions, kBenchmarkTests,
                                                              kProof, kQueue};

os::Result<std::int64_t> version_of(Database& database) {
  Statement statement = TRY(database.query("PRAGMA user_version"));
  if (!TRY(statement.step())) return os::fail(os::Code::corrupt, "database: no user_version");
  return statement.int64(0);
}

}  // namespace

os::Result<void> migrate(Database& database) {
  Transaction transaction = TRY(Transaction::begin(database));
  const std::int64_t version = TRY(version_of(database));
  if (version > kSchemaVersion)
    return os::fail(os::Code::conflict,
                    "the database has format " + std::to_string(version) + ", this program knows " +
                        std::to_string(kSchemaVersion) + ": start the newer program");
  for (auto next = static_cast<std::size_t>(version); next < kMigrations.size(); ++next) {
    TRY_CONTEXT(database.execute(kMigrations.at(next)), "migration " + std::to_string(next + 1));
  }
  TRY(database.execute("PRAGMA user_version=" + std::to_string(kSchemaVersion)));
  return transaction.commit();
}

}  // namespace runner::store
