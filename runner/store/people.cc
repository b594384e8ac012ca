#include "runner/store/people.h"

namespace runner::store {
namespace {

constexpr int kMaxChain = 16;

TokenRow read_token(const Statement& row) {
  return TokenRow{.sha256 = row.text(0),
                  .id = row.text(1),
                  .principal = row.text(2),
                  .created_at = row.text(3),
                  .expires_at = row.text(4),
                  .revoked_at = row.text(5),
                  .minted_by = row.text(6),
                  .last_used_at = row.text(7)};
}

constexpr std::string_view kTokenColumns =
    "SELECT sha256, id, principal, created_at, expires_at, coalesce(revoked_at, ''), minted_by, "
    "last_used_at FROM tokens ";

}  // namespace

os::Result<void> insert_principal(Database& database, const Principal& principal,
                                  const std::string& at) {
  TRY(database.run("INSERT INTO principals(name, owner, created_at, minted_by) VALUES(?, ?, ?, ?)",
                   {principal.name, principal.owner, at, principal.minted_by}));
  return {};
}

os::Result<std::optional<Principal>> find_principal(Database& database, const std::string& name) {
  Statement row =
      TRY(database.query("SELECT name, owner, minted_by FROM principals WHERE name = ?", {name}));
  if (!TRY(row.step())) return std::optional<Principal>{};
  return std::optional(
      Principal{.name = row.text(0), .owner = row.text(1), .minted_by = row.text(2)});
}

os::Result<std::string> chain_root(Database& database, const std::string& name) {
  std::string current = name;
  for (int links = 0; links < kMaxChain; ++links) {
    const std::optional<Principal> principal = TRY(find_principal(database, current));
    if (!principal || principal->owner.empty()) return current;
    current = principal->owner;
  }
  return os::fail(os::Code::corrupt, "the owner chain of " + name + " does not end");
}

os::Result<std::vector<std::string>> roots_behind(Database& database, const std::string& name) {
  std::vector<std::string> roots{TRY(chain_root(database, name))};
  std::string current = name;
  for (int links = 0; links < kMaxChain && !current.empty(); ++links) {
    const std::optional<Principal> principal = TRY(find_principal(database, current));
    if (!principal) break;
    if (!principal->minted_by.empty())
      roots.push_back(TRY(chain_root(database, principal->minted_by)));
    current = principal->owner;
  }
  return roots;
}

os::Result<void> insert_grant(Database& database, const Grant& grant) {
  TRY(database.run(
      "INSERT INTO grants(principal, project, role) VALUES(?, ?, ?) ON CONFLICT DO NOTHING",
      {grant.principal, grant.project, role_name(grant.role)}));
  return {};
}

os::Result<std::vector<Grant>> grants_of(Database& database, const std::string& principal) {
  Statement row = TRY(database.query(
      "SELECT principal, project, role FROM grants WHERE principal = ?", {principal}));
  std::vector<Grant> grants;
  while (TRY(row.step())) {
    grants.push_back(Grant{
        .principal = row.text(0), .project = row.text(1), .role = TRY(parse_role(row.text(2)))});
  }
  return grants;
}

os::Result<void> insert_token(Database& database, const TokenRow& token) {
  TRY(
      database.run("INSERT INTO tokens(sha256, id, principal, created_at, expires_at, minted_by) "
                   "VALUES(?, ?, ?, ?, ?, ?)",
                   {token.sha256, token.id, token.principal, token.created_at, token.expires_at,
                    token.minted_by}));
  return {};
}

os::Result<std::optional<TokenRow>> find_token(Database& database, const std::string& sha256) {
  Statement row = TRY(database.query(std::string(kTokenColumns) + "WHERE sha256 = ?", {sha256}));
  if (!TRY(row.step())) return std::optional<TokenRow>{};
  return std::optional(read_token(row));
}

os::Result<std::vector<TokenRow>> list_tokens(Database& database, const std::string& principal) {
  Statement row = TRY(database.query(
      std::string(kTokenColumns) + "WHERE ?1 = '' OR principal = ?1 ORDER BY id LIMIT 1000",
      {principal}));
  std::vector<TokenRow> tokens;
  while (TRY(row.step())) tokens.push_back(read_token(row));
  return tokens;
}

os::Result<std::string> minter_of(Database& database, const std::string& id) {
  Statement row = TRY(database.query("SELECT minted_by FROM tokens WHERE id = ?", {id}));
  if (!TRY(row.step())) return std::string();
  return row.text(0);
}

os::Result<void> touch_token(Database& database, const std::string& id, const std::string& at) {
  TRY(database.run("UPDATE tokens SET last_used_at = ? WHERE id = ?", {at, id}));
  return {};
}

os::Result<bool> revoke_token(Database& database, const std::string& id, const std::string& at) {
  return TRY(database.run("UPDATE tokens SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?",
                          {at, id})) == 1;
}

os::Result<std::optional<std::string>> find_meta(Database& database, const std::string& key) {
  Statement row = TRY(database.query("SELECT value FROM meta WHERE key = ?", {key}));
  if (!TRY(row.step())) return std::optional<std::string>{};
  return std::optional(row.text(0));
}

os::Result<void> put_meta(Database& database, const std::string& key, const std::string& value) {
  TRY(
      database.run("INSERT INTO meta(key, value) VALUES(?, ?) "
                   "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                   {key, value}));
  return {};
}

}  // namespace runner::store
