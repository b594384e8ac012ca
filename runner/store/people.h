// Principals, grants and tokens in the database.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/store/records.h"
#include "runner/store/sqlite.h"

namespace runner::store {

// `principal.minted_by` is kept with it. conflict: the name is taken.
os::Result<void> insert_principal(Database& database, const Principal& principal,
                                  const std::string& at);
os::Result<std::optional<Principal>> find_principal(Database& database, const std::string& name);
// The first of the owner chain: the person who answers for `name` in the end. A chain that is
// longer than 16, or a circle, answers corrupt.
os::Result<std::string> chain_root(Database& database, const std::string& name);
// The roots of all who stand behind `name`: its own, and those of whoever minted it or one of its
// owners.
os::Result<std::vector<std::string>> roots_behind(Database& database, const std::string& name);

// The same grant again is no error. conflict: no such principal.
os::Result<void> insert_grant(Database& database, const Grant& grant);
os::Result<std::vector<Grant>> grants_of(Database& database, const std::string& principal);

os::Result<void> insert_token(Database& database, const TokenRow& token);
os::Result<std::optional<TokenRow>> find_token(Database& database, const std::string& sha256);
// Of one principal or (empty) of all, the oldest first; at most 1000.
os::Result<std::vector<TokenRow>> list_tokens(Database& database, const std::string& principal);
// Who minted a token; empty: the first start did, or there is no such token.
os::Result<std::string> minter_of(Database& database, const std::string& id);
// Notes the use of a token.
os::Result<void> touch_token(Database& database, const std::string& id, const std::string& at);
// False: there is no such token.
os::Result<bool> revoke_token(Database& database, const std::string& id, const std::string& at);

// A named value of the database itself.
os::Result<std::optional<std::string>> find_meta(Database& database, const std::string& key);
os::Result<void> put_meta(Database& database, const std::string& key, const std::string& value);

}  // namespace runner::store
