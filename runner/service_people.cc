// People: principals, grants and tokens.
#include <optional>

#include "runner/clock.h"
#include "runner/log.h"
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
// A use is noted once in so long: it costs a write.
constexpr std::chrono::minutes kUseNoted{1};

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
  std::string last_used;
  auto actor = ASK(store_->read([&](store::Database& database) -> os::Result<std::optional<Actor>> {
    const auto row = TRY(store::find_token(database, sha256));
    if (!row || !os::equal_constant_time(row->sha256, sha256) || !row->revoked_at.empty() ||
        row->expires_at <= now_text())
      return std::optional<Actor>{};
    const auto principal = TRY(store::find_principal(database, row->principal));
    if (!principal) return std::optional<Actor>{};
    last_used = row->last_used_at;
    return std::optional(Actor{.principal = *principal,
                               .grants = TRY(store::grants_of(database, principal->name)),
                               .token = row->id,
                               .minted_by = row->minted_by});
  }));
  if (!actor) return unauthorized();
  if (last_used < time_text_after(-kUseNoted)) {
    const auto noted = store_->write([&](store::Database& database) {
      return store::touch_token(database, actor->token, now_text());
    });
    // Reading goes on where nothing can be written.
    if (!noted) log_line(LogLevel::warn, "token's use", {{"error", noted.error().message}});
  }
  return std::move(*actor);
}

Answer<void> ServiceCore::create_principal(const Actor& actor, const Principal& principal) {
  ASK(require_admin(actor));
  if (!os::is_plain_name(principal.name))
    return refuse_field("/name", "a name has 1 to 64 characters of a-z, 0-9, '_', '-', '.'");
  const os::Result<void> made = store_->write([&](store::Database& database) -> os::Result<void> {
    if (!principal.owner.empty() && !TRY(store::find_principal(database, principal.owner)))
      return os::fail(os::Code::invalid, "no principal is called '" + principal.owner + "'");
    Principal minted = principal;
    minted.minted_by = actor.principal.name;
    TRY(store::insert_principal(database, minted, now_text()));
    return audit_.append(database, {.type = "principal.created",
                                    .actor = actor.principal.name,
                                    .project = {},
                                    .subject = principal.name,
                                    .data = {{"owner", principal.owner}}});
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
    TRY(store::insert_grant(database, grant));
    return audit_.append(database, {.type = "grant.given",
                                    .actor = actor.principal.name,
                                    .project = grant.project == "*" ? "" : grant.project,
                                    .subject = grant.principal,
                                    .data = {{"role", std::string(role_name(grant.role))},
                                             {"project", grant.project}}});
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
  NewToken token = make_token(principal, lifetime);
  token.row.minted_by = actor.principal.name;
  const os::Result<void> made = store_->write([&](store::Database& database) -> os::Result<void> {
    TRY(store::insert_token(database, token.row));
    return audit_.append(
        database, {.type = "token.minted",
                   .actor = actor.principal.name,
                   .project = {},
                   .subject = token.row.id,
                   .data = {{"principal", principal}, {"expires_at", token.row.expires_at}}});
  });
  if (!made && made.error().code == os::Code::conflict)
    return refuse_field("/principal", "no principal is called '" + principal + "'");
  ASK(made);
  return IssuedToken{.token = token.secret, .id = token.row.id, .expires_at = token.row.expires_at};
}

Answer<void> ServiceCore::revoke_token(const Actor& actor, const std::string& id) {
  ASK(require_admin(actor));
  const bool is_known =
      ASK(store_->write_value<bool>([&](store::Database& database) -> os::Result<bool> {
        if (!TRY(store::revoke_token(database, id, now_text()))) return false;
        TRY(audit_.append(database, {.type = "token.revoked",
                                     .actor = actor.principal.name,
                                     .project = {},
                                     .subject = id,
                                     .data = {}}));
        return true;
      }));
  if (!is_known) return refuse("not_found", "there is no token '" + id + "'");
  return {};
}

Answer<std::vector<TokenView>> ServiceCore::list_tokens(const Actor& actor,
                                                        const std::string& principal) {
  const bool is_own = principal == actor.principal.name;
  if (!is_own) ASK(require_admin(actor));
  std::vector<TokenView> views;
  for (const store::TokenRow& row : ASK(store_->read(
           [&](store::Database& database) { return store::list_tokens(database, principal); })))
    views.push_back(TokenView{.id = row.id,
                              .principal = row.principal,
                              .minted_by = row.minted_by,
                              .created_at = row.created_at,
                              .expires_at = row.expires_at,
                              .revoked_at = row.revoked_at,
                              .last_used_at = row.last_used_at});
  return views;
}

}  // namespace runner
