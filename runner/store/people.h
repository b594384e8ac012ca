// Principals, grants and tokens in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

// conflict: the name is taken.
os::Result<void> insert_principal(Database& database, const Principal& principal,
                                  const std::string& at);
os::Result<std::optional<Principal>> find_principal(Database& database, const std::string& name);
// The first of the owner chain: the person who answers for `name` in the end. A chain that is
// longer than 16, or a circle, answers corrupt.
os::Result<std::string> chain_root(Database& database, const std::string& name);

// The same grant again is no error. conflict: no such principal.
os::Result<void> insert_grant(Database& database, const Grant& grant);
os::Result<std::vector<Grant>> grants_of(Database& database, const std::string& principal);

os::Result<void> insert_token(Database& database, const TokenRow& token);
os::Result<std::optional<TokenRow>> find_token(Database& database, const std::string& sha256);
// False: there is no such token.
os::Result<bool> revoke_token(Database& database, const std::string& id, const std::string& at);

// A named value of the database itself.
os::Result<std::optional<std::string>> find_meta(Database& database, const std::string& key);
os::Result<void> put_meta(Database& database, const std::string& key, const std::string& value);

}  // namespace runner::store
