// Sessions: a person's browser, logged in by a one-time code from a terminal.
#include <chrono>
#include <optional>
#include <string_view>

#include "runner/answer.h"
#include "runner/clock.h"
#include "runner/service_core.h"
#include "runner/store/people.h"
#include "runner/store/sessions.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

constexpr std::chrono::minutes kCodeLife{5};
constexpr std::chrono::hours kSessionLife{12};
constexpr int kMostSessions = 20;  // of a principal; the oldest gives way
constexpr std::size_t kSecretBytes = 32;

// Wrong codes of all clients together in a window. A code has 43 bits: guessing at that rate for
// its five minutes, while a hundred codes are open, succeeds with a probability of about 10^-9.
constexpr int kMostWrong = 20;
constexpr std::chrono::minutes kWindow{1};

// No letter or digit that is read as another, no vowels.
constexpr std::string_view kCodeLetters = "23456789BCDFGHJKMNPQRSTVWXYZ----";
constexpr std::size_t kCodeLength = 9;
constexpr std::size_t kGroup = 3;

// 28 letters, nine of them: 43 bits. What falls on a '-' is drawn again, so that all are as likely.
std::string make_code() {
  std::string code;
  while (code.size() < kCodeLength) {
    for (const char byte : os::random_bytes(kCodeLength)) {
      const char letter = kCodeLetters[static_cast<unsigned char>(byte) % kCodeLetters.size()];
      if (letter != '-' && code.size() < kCodeLength) code += letter;
    }
  }
  return code;
}

// As people type it: groups, any case.
std::string canonical_code(const std::string& typed) {
  std::string code;
  for (const char c : typed) {
    if (c >= 'a' && c <= 'z')
      code += static_cast<char>(c - 'a' + 'A');
    else if (c != '-' && c != ' ')
      code += c;
  }
  return code;
}

std::string shown_code(const std::string& code) {
  return code.substr(0, kGroup) + "-" + code.substr(kGroup, kGroup) + "-" + code.substr(2 * kGroup);
}

std::unexpected<ServiceError> no_session() {
  return refuse("unauthorized", "you are not logged in, or your session has ended",
                "run `proofhouse login` in a terminal and type its code here");
}

// A form that only pages of this session can send: whoever can read it knows the cookie already.
std::string csrf_of(const std::string& secret) {
  return os::sha256("proofhouse csrf\n" + secret).hex().substr(0, 40);
}

}  // namespace

bool ServiceCore::is_guessing(int more) {
  const auto now = std::chrono::steady_clock::now();
  return wrong_codes_.with([&](WrongCodes& wrong) {
    if (now - wrong.since > kWindow) wrong = {.since = now, .count = 0};
    wrong.count += more;
    return wrong.count >= kMostWrong;
  });
}

Answer<LoginCode> ServiceCore::create_login_code(const Actor& actor) {
  if (actor.token.empty())
    return refuse("forbidden", "a login code is asked for with a token", "use a token");
  const std::string code = make_code();
  const store::SessionRow row{.sha256 = os::sha256(code).hex(),
                              .principal = actor.principal.name,
                              .token = actor.token,
                              .created_at = now_text(),
                              .expires_at = time_text_after(kCodeLife)};
  ASK(store_->write([&](store::Database& database) -> os::Result<void> {
    TRY(store::insert_login_code(database, row));
    return store::trim_sessions(database, row.principal, kMostSessions, row.created_at);
  }));
  return LoginCode{.code = shown_code(code), .expires_at = row.expires_at};
}

Answer<OpenedSession> ServiceCore::open_session(const std::string& typed) {
  if (is_guessing(0))
    return refuse_for_now("rate_limited", "too many wrong codes were typed in the last minute",
                          "wait a minute");
  const std::string now = now_text();
  const std::string secret = os::random_hex(kSecretBytes);
  const std::string code = os::sha256(canonical_code(typed)).hex();
  store::SessionRow session{.sha256 = os::sha256(secret).hex(),
                            .principal = {},
                            .token = {},
                            .created_at = now,
                            .expires_at = time_text_after(kSessionLife)};
  const bool is_open =
      ASK(store_->write_value<bool>([&](store::Database& database) -> os::Result<bool> {
        const auto taken = TRY(store::take_login_code(database, code, now));
        if (!taken) return false;
        session.principal = taken->principal;
        session.token = taken->token;
        TRY(store::insert_session(database, session));
        TRY(store::trim_sessions(database, session.principal, kMostSessions, now));
        // A token that was revoked meanwhile opens nothing.
        if (!TRY(store::find_session(database, session.sha256, now))) return false;
        TRY(audit_.append(database, {.type = "session.opened",
                                     .actor = session.principal,
                                     .project = {},
                                     .subject = session.token,
                                     .data = {}}));
        return true;
      }));
  if (!is_open) {
    is_guessing(1);
    return refuse("unauthorized", "this code is wrong, used already, or older than five minutes",
                  "run `proofhouse login` again");
  }
  return OpenedSession{.secret = secret, .lifetime = kSessionLife};
}

Answer<WebSession> ServiceCore::session(const std::string& secret) {
  if (secret.size() != 2 * kSecretBytes) return no_session();
  const std::string sha256 = os::sha256(secret).hex();
  using Found = std::optional<WebSession>;
  Found found = ASK(store_->read([&](store::Database& database) -> os::Result<Found> {
    const auto row = TRY(store::find_session(database, sha256, now_text()));
    if (!row) return Found{};
    const auto principal = TRY(store::find_principal(database, row->principal));
    if (!principal) return Found{};
    return Found(WebSession{.actor = {.principal = *principal,
                                      .grants = TRY(store::grants_of(database, row->principal)),
                                      .token = row->token,
                                      .minted_by = TRY(store::minter_of(database, row->token))},
                            .csrf = csrf_of(secret),
                            .expires_at = row->expires_at});
  }));
  if (!found) return no_session();
  return std::move(*found);
}

Answer<void> ServiceCore::close_session(const std::string& secret) {
  ASK(store_->write([&](store::Database& database) {
    return store::delete_session(database, os::sha256(secret).hex());
  }));
  return {};
}

}  // namespace runner
