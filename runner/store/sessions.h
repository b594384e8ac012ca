// Browser sessions and the one-time codes that open them. Both are stored as SHA-256 only, and are
// worth nothing once the token that stands behind them is.
#pragma once

#include <optional>
#include <string>

#include "runner/store/sqlite.h"

namespace runner::store {

// A login code (used once) or a session (used until it ends).
struct SessionRow {
  std::string sha256, principal;
  std::string token;  // id of the token that the code was asked for with
  std::string created_at, expires_at;
};

os::Result<void> insert_login_code(Database& database, const SessionRow& code);
// Takes the code away, if it is there and not expired: whoever gets it has used it up.
os::Result<std::optional<SessionRow>> take_login_code(Database& database, const std::string& sha256,
                                                      const std::string& now);
os::Result<void> insert_session(Database& database, const SessionRow& session);
// Unexpired, and its token neither expired nor revoked.
os::Result<std::optional<SessionRow>> find_session(Database& database, const std::string& sha256,
                                                   const std::string& now);
os::Result<void> delete_session(Database& database, const std::string& sha256);
// Removes what expired, and the oldest sessions of a principal over `most`.
os::Result<void> trim_sessions(Database& database, const std::string& principal, int most,
                               const std::string& now);

}  // namespace runner::store
