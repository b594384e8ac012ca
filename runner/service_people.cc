// People: principals, grants and tokens.
#include <optional>

#include "runner/clock.h"
#include "runner/service_core.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/tokens.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

constexpr std::chrono::seconds kShortestToken{60};
constexpr std::chrono::hours kLongestToken{24 * 366};
constexpr std::chrono::hours kUsualToken{24 * 90};  // where none is asked for

Answer<void> require_admin(const Actor& actor) {
  if (actor.has(Role::admin, "*")) return {};
  return refuse("forbidden", "only an administrator may do this", "ask an administrator");
}

std::unexpected<ServiceError> unauthorized() {
  return refuse("unauthorized", "the token is missing, wrong, expired or revoked",
                "ask an administrator for a token");
}

}  // namespace

Answer<Actor> ServiceCore::authenticate(const std::string& token) {
  // The checksum spares the database a look-up for what cannot be a token.
  if (!is_token(token)) return unauthorized();
  const std::string sha256 = os::sha256(token).hex();
  auto actor = ASK(store_->read([&](store::Database& database) -> os::Result<std::optional<Actor>> {
    const auto row = TRY(store::find_token(database, sha256));
    if (!row || !os::equal_constant_time(row->sha256, sha256) || !row->revoked_at.empty() ||
        row->expires_at <= now_text())
      return std::optional<Actor>{};
    const auto principal = TRY(store::find_principal(database, row->principal));
    if (!principal) return std::optional<Actor>{};
    return std::optional(
        Actor{.principal = *principal,
              .grants = TRY(store::grants_of(database, principal->name)),
              .token = row->id});
  }));
  if (!actor) return unauthorized();
  return std::move(*actor);
}

Answer<void> ServiceCore::create_principal(const Actor& actor, const Principal& principal) {
  ASK(require_admin(actor));
  if (!os::is_plain_name(principal.name))
    return refuse_field("/name", "a name has 1 to 64 characters of a-z, 0-9, '_', '-', '.'");
  const os::Result<void> made = store_->write([&](store::Database& database) -> os::Result<void> {
    if (!principal.owner.empty() && !TRY(store::find_principal(database, principal.owner)))
      return os::fail(os::Code::invalid, "no principal is called '" + principal.owner + "'");
    return store::insert_principal(database, principal, now_text());
  });
  if (made) return {};
  if (made.error().code == os::Code::invalid) return refuse_field("/owner", made.error().message);
  if (made.error().code == os::Code::conflict)
    return refuse("already_exists", "there is a principal '" + principal.name + "' already",
                  "choose another name");
  return std::unexpected(to_service_error(made.error()));
}

Answer<void> ServiceCore::grant(const Actor& actor, const Grant& grant) {
  ASK(require_admin(actor));
  const os::Result<void> made = store_->write([&](store::Database& database) -> os::Result<void> {
    if (!TRY(store::find_principal(database, grant.principal)))
      return os::fail(os::Code::invalid, "no principal is called '" + grant.principal + "'");
    if (grant.project != "*" && !TRY(store::find_project(database, grant.project)))
      return os::fail(os::Code::invalid, "no project is called '" + grant.project + "'");
    return store::insert_grant(database, grant);
  });
  if (!made && made.error().code == os::Code::invalid)
    return refuse_field(made.error().message.contains("project") ? "/project" : "/principal",
                        made.error().message);
  ASK(made);
  return {};
}

Answer<IssuedToken> ServiceCore::create_token(const Actor& actor, const std::string& principal,
                                              std::chrono::seconds lifetime) {
  ASK(require_admin(actor));
  if (lifetime.count() == 0) lifetime = kUsualToken;
  if (lifetime < kShortestToken || lifetime > kLongestToken)
    return refuse_field("/lifetime_seconds", "a token lives 60 s to 366 days");
  const NewToken token = make_token(principal, lifetime);
  const os::Result<void> made = store_->write(
      [&](store::Database& database) { return store::insert_token(database, token.row); });
  if (!made && made.error().code == os::Code::conflict)
    return refuse_field("/principal", "no principal is called '" + principal + "'");
  ASK(made);
  return IssuedToken{.token = token.secret, .id = token.row.id, .expires_at = token.row.expires_at};
}

Answer<void> ServiceCore::revoke_token(const Actor& actor, const std::string& id) {
  ASK(require_admin(actor));
  const bool is_known = ASK(store_->write_value<bool>(
      [&](store::Database& database) { return store::revoke_token(database, id, now_text()); }));
  if (!is_known) return refuse("not_found", "there is no token '" + id + "'");
  return {};
}

}  // namespace runner
