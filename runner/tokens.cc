#include "runner/tokens.h"

#include "runner/clock.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"

namespace runner {
namespace {

constexpr std::string_view kPrefix = "ph_";
constexpr std::size_t kBits = 256;
constexpr std::size_t kChecksum = 8;  // digits

std::string checksum(std::string_view head) { return os::sha256(head).hex().substr(0, kChecksum); }

}  // namespace

NewToken make_token(const std::string& principal, std::chrono::seconds lifetime) {
  NewToken token;
  const std::string head = std::string(kPrefix) + os::random_hex(kBits / 8);
  token.secret = head + "_" + checksum(head);
  token.row = {.sha256 = os::sha256(token.secret).hex(),
               .id = "k_" + os::make_ulid(),
               .principal = principal,
               .created_at = now_text(),
               .expires_at = time_text_after(lifetime),
               .revoked_at = {}};
  return token;
}

bool is_token(std::string_view text) {
  const std::size_t head = kPrefix.size() + kBits / 4;
  return text.size() == head + 1 + kChecksum && text.starts_with(kPrefix) && text[head] == '_' &&
         text.substr(head + 1) == checksum(text.substr(0, head));
}

}  // namespace runner
