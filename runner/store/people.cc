#include "runner/store/people.h"

namespace runner::store {

os::Result<void> insert_principal(Database& database, const Principal& principal,
                                  const std::string& at) {
  TRY(database.run("INSERT INTO principals(name, owner, created_at) VALUES(?, ?, ?)",
                   {principal.name, principal.owner, at}));
  return {};
}

os::Result<std::optional<Principal>> find_principal(Database& database, const std::string& name) {
  Statement row = TRY(database.query("SELECT name, owner FROM principals WHERE name = ?", {name}));
  if (!TRY(row.step())) return std::optional<Principal>{};
  return std::optional(Principal{.name = row.text(0), .owner = row.text(1)});
}

os::Result<std::string> chain_root(Database& database, const std::string& name) {
  constexpr int kMaxChain = 16;
  std::string current = name;
  for (int links = 0; links < kMaxChain; ++links) {
    const std::optional<Principal> principal = TRY(find_principal(database, current));
    if (!principal || principal->owner.empty()) return current;
    current = principal->owner;
  }
  return os::fail(os::Code::corrupt, "the owner chain of " + name + " does not end");
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
      database.run("INSERT INTO tokens(sha256, id, principal, created_at, expires_at) "
                   "VALUES(?, ?, ?, ?, ?)",
                   {token.sha256, token.id, token.principal, token.created_at, token.expires_at}));
  return {};
}

os::Result<std::optional<TokenRow>> find_token(Database& database, const std::string& sha256) {
  Statement row = TRY(database.query(
      "SELECT sha256, id, principal, created_at, expires_at, coalesce(revoked_at, '') "
      "FROM tokens WHERE sha256 = ?",
      {sha256}));
  if (!TRY(row.step())) return std::optional<TokenRow>{};
  return std::optional(TokenRow{.sha256 = row.text(0),
                                .id = row.text(1),
                                .principal = row.text(2),
                                .created_at = row.text(3),
                                .expires_at = row.text(4),
                                .revoked_at = row.text(5)});
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
