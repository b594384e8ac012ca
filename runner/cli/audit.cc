// audit: the log of every decision, exported and verified.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runner/attest/audit_chain.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/proof_answers.h"
#include "runner/cli/session.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/files.h"

namespace runner::cli {
namespace {

constexpr std::size_t kAuditKeyLimit = 4096;
constexpr std::size_t kAuditHeadLimit = 64U << 10U;
constexpr std::size_t kAuditLogLimit = 1U << 30U;

// Calls `take` with each line of `text`, without its newline.
void each_line(std::string_view text, const std::function<void(std::string_view)>& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The head is signed over the log as it is now; entries that come later are left out.
Told<std::string> read_log(Session& session, const std::function<void(std::string_view)>& take) {
  const Told<HttpAnswer> head = session.get("/v1/audit/head");
  if (!head) return std::unexpected(head.error());
  const os::Result<AuditHead> known = parse_head(head->body);
  const std::int64_t last = known ? known->sequence : 0;
  std::string after = "0";
  while (true) {
    const Told<HttpAnswer> page = session.get("/v1/audit?after=" + after);
    if (!page) return std::unexpected(page.error());
    if (page->body.empty()) break;
    each_line(page->body, [&](std::string_view line) {
      const os::Result<AuditEntry> entry = parse_audit_line(line);
      if (!entry || entry->sequence <= last) take(line);
    });
    const std::string next = page->header("x-audit-last");
    if (next.empty() || next == after) break;
    after = next;
  }
  std::string envelope = head->body;
  while (envelope.ends_with('\n')) envelope.pop_back();
  return envelope;
}

// The key from a file, or else the one that the server names itself.
Told<std::string> key_pem(const AuditVerifyCommand& command, Session* session) {
  if (!command.key_file.empty()) {
    const os::Result<std::string> pem = os::read_file(command.key_file, kAuditKeyLimit);
    if (!pem) return std::unexpected(tell(pem.error()));
    return *pem;
  }
  if (session == nullptr) {
    say("--file needs --key FILE: the public key of the server (`proofhouse attest key`)");
    return std::unexpected(kExitUsage);
  }
  const Told<HttpAnswer> answer = session->get("/v1/keys");
  if (!answer) return std::unexpected(answer.error());
  const os::Result<std::string> pem = read_key(answer->body);
  if (!pem) return std::unexpected(tell(pem.error()));
  say("the key is the server's own word; keep it once and give it with --key");
  return *pem;
}

int tell_outcome(const AuditVerifier& verifier) {
  for (const std::string& problem : verifier.problems()) say(problem);
  if (!verifier.problems().empty()) return kExitRejected;
  print(fmt::format("{} entries, unbroken, head signed\n", verifier.entries()));
  return kExitOk;
}

// Feeds an exported log: entries, and the head as its last line.
Told<std::string> read_file_log(const std::string& path, AuditVerifier& verifier) {
  const os::Result<std::string> text = os::read_file(path, kAuditLogLimit);
  if (!text) return std::unexpected(tell(text.error()));
  std::optional<std::string> last;
  each_line(*text, [&](std::string_view line) {
    if (last) verifier.add(*last);
    last = line;
  });
  return last.value_or("");
}

}  // namespace

int run_command(const AuditVerifyCommand& command) {
  AuditVerifier verifier;
  if (!command.head_file.empty()) {
    const os::Result<std::string> text = os::read_file(command.head_file, kAuditHeadLimit);
    if (!text) return tell(text.error());
    const os::Result<AuditHead> earlier = parse_head(*text);
    if (!earlier) return tell(earlier.error());
    verifier.expect(*earlier);
  }
  std::optional<Session> session;
  if (command.file.empty()) {
    Told<Session> opened = Session::open(command.server);
    if (!opened) return opened.error();
    session.emplace(std::move(*opened));
  }
  const Told<std::string> pem = key_pem(command, session ? &*session : nullptr);
  if (!pem) return pem.error();
  const os::Result<os::PublicKey> key = os::PublicKey::from_pem(*pem);
  if (!key) return tell(key.error());
  const Told<std::string> head =
      session ? read_log(*session, [&](std::string_view line) { verifier.add(line); })
              : read_file_log(command.file, verifier);
  if (!head) return head.error();
  verifier.finish(*head, *key);
  return tell_outcome(verifier);
}

int run_command(const AuditExportCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<std::string> head =
      read_log(*session, [](std::string_view line) { print(std::string(line) + "\n"); });
  if (!head) return head.error();
  print(*head + "\n");
  return kExitOk;
}

int run_command(const AuditHeadCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> head = session->get("/v1/audit/head");
  if (!head) return head.error();
  print(escape_json(head->body));
  return kExitOk;
}

}  // namespace runner::cli
