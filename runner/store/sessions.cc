#include "runner/store/sessions.h"

#include <cstdint>

namespace runner::store {
namespace {

SessionRow read_row(const Statement& row) {
  return SessionRow{.sha256 = row.text(0),
                    .principal = row.text(1),
                    .token = row.text(2),
                    .created_at = row.text(3),
                    .expires_at = row.text(4)};
}

}  // namespace

os::Result<void> insert_login_code(Database& database, const SessionRow& code) {
  TRY(
      database.run("INSERT INTO login_codes(sha256, principal, token, created_at, expires_at) "
                   "VALUES(?, ?, ?, ?, ?)",
                   {code.sha256, code.principal, code.token, code.created_at, code.expires_at}));
  return {};
}

os::Result<std::optional<SessionRow>> take_login_code(Database& database, const std::string& sha256,
                                                      const std::string& now) {
  std::optional<SessionRow> taken;
  {
    Statement row = TRY(
        database.query("SELECT sha256, principal, token, created_at, expires_at FROM login_codes "
                       "WHERE sha256 = ? AND expires_at > ?",
                       {sha256, now}));
    if (TRY(row.step())) taken = read_row(row);
  }
  TRY(database.run("DELETE FROM login_codes WHERE sha256 = ? OR expires_at <= ?", {sha256, now}));
  return taken;
}

os::Result<void> insert_session(Database& database, const SessionRow& session) {
  TRY(database.run(
      "INSERT INTO sessions(sha256, principal, token, created_at, expires_at) "
      "VALUES(?, ?, ?, ?, ?)",
      {session.sha256, session.principal, session.token, session.created_at, session.expires_at}));
  return {};
}

os::Result<std::optional<SessionRow>> find_session(Database& database, const std::string& sha256,
                                                   const std::string& now) {
  Statement row = TRY(database.query(
      "SELECT s.sha256, s.principal, s.token, s.created_at, s.expires_at FROM sessions s "
      "JOIN tokens t ON t.id = s.token AND t.principal = s.principal "
      "WHERE s.sha256 = ? AND s.expires_at > ? AND t.revoked_at IS NULL AND t.expires_at > ?",
      {sha256, now, now}));
  if (!TRY(row.step())) return std::optional<SessionRow>{};
  return std::optional(read_row(row));
}

os::Result<void> delete_session(Database& database, const std::string& sha256) {
  TRY(database.run("DELETE FROM sessions WHERE sha256 = ?", {sha256}));
  return {};
}

os::Result<void> trim_sessions(Database& database, const std::string& principal, int most,
                               const std::string& now) {
  TRY(database.run("DELETE FROM sessions WHERE expires_at <= ?", {now}));
  TRY(
      database.run("DELETE FROM sessions WHERE principal = ? AND sha256 NOT IN (SELECT sha256 "
                   "FROM sessions WHERE principal = ? ORDER BY created_at DESC LIMIT ?)",
                   {principal, principal, std::int64_t{most}}));
  TRY(database.run("DELETE FROM login_codes WHERE expires_at <= ?", {now}));
  TRY(
      database.run("DELETE FROM login_codes WHERE principal = ? AND sha256 NOT IN (SELECT sha256 "
                   "FROM login_codes WHERE principal = ? ORDER BY created_at DESC LIMIT ?)",
                   {principal, principal, std::int64_t{most}}));
  return {};
}

}  // namespace runner::store
