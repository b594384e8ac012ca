// attest: the signed statements of a promotion; verified on a clone, without a server.
#include <cstddef>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "runner/attest/names.h"
#include "runner/attest/verify.h"
#include "runner/cli/commands.h"
#include "runner/cli/commit_pack.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/proof_answers.h"
#include "runner/cli/session.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/git.h"
#include "tasks/git_history.h"
#include "tasks/git_notes.h"

namespace runner::cli {
namespace {

constexpr std::size_t kBundleLimit = 16U << 20U;
constexpr std::size_t kPublicKeyLimit = 4096;
constexpr std::size_t kHeldPolicyLimit = 256U << 10U;

namespace git = tasks::git;
using tasks::CommitId;

// A clone read by libgit2.
class GitClone final : public CloneView {
 public:
  explicit GitClone(const git::Repository& repository) : repository_(repository) {}
  os::Result<std::string> tree_of(const std::string& commit) override {
    return TRY(repository_.commit(TRY(CommitId::parse(commit)))).tree.hex();
  }
  os::Result<bool> descends(const std::string& commit, const std::string& ancestor) override {
    return git::descends_from(repository_, TRY(CommitId::parse(commit)),
                              TRY(CommitId::parse(ancestor)));
  }
  os::Result<PolicyFileId> policy_of(const std::string& commit) override {
    git::PolicyFile file = TRY(git::policy_file(repository_, TRY(CommitId::parse(commit))));
    return PolicyFileId{.blob = std::move(file.blob), .sha256 = std::move(file.sha256)};
  }

 private:
  const git::Repository& repository_;
};

os::Result<Attested> verify(const AttestVerifyCommand& command, std::string& commit) {
  const os::PublicKey key =
      TRY_CONTEXT(os::PublicKey::from_pem(TRY(os::read_file(command.key_file, kPublicKeyLimit))),
                  command.key_file);
  VerifyOrder order;
  if (!command.policy_file.empty())
    order.policy_sha256 =
        os::sha256(TRY(os::read_file(command.policy_file, kHeldPolicyLimit))).hex();
  const git::Session session = TRY(git::Session::start(git::Use::repositories));
  const std::string path = TRY(find_repository(command.repository));
  const git::Repository repository = TRY_CONTEXT(git::Repository::open(path), path);
  const CommitId id = TRY(resolve(repository, command.commit));
  commit = order.commit = id.hex();
  std::string bundle;
  if (!command.bundle_file.empty()) {
    bundle = TRY(os::read_file(command.bundle_file, kBundleLimit));
  } else {
    os::Result<std::string> note = git::read_note(repository, std::string(kNotesRef), id);
    if (!note)
      return os::fail(note.error().code,
                      "commit " + commit + " has no note in " + std::string(kNotesRef) +
                          ": fetch that reference, or give the statements with --bundle");
    bundle = std::move(*note);
  }
  GitClone clone(repository);
  return verify_bundle(bundle, key, order, clone);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "nobody" : text;
}

std::string text_of(const std::string& commit, const Attested& attested) {
  std::string text = fmt::format(
      "{}: proven: task {} of project {} landed it on {}\n  builder {}\n  assurance {}\n"
      "  approved by {}\n",
      commit, escape_line(attested.task), escape_line(attested.project),
      escape_line(attested.target), escape_line(attested.builder),
      attested.assurance.empty() ? "none" : escape_line(attested.assurance),
      escape_line(joined(attested.approvals)));
  if (attested.self_approved) text += "  self-approved: an owner approved the own change\n";
  if (!attested.overrides.empty())
    text += fmt::format("  overridden: {} did not pass\n", escape_line(joined(attested.overrides)));
  return text;
}

}  // namespace

int run_command(const AttestVerifyCommand& command) {
  std::string commit;
  const os::Result<Attested> attested = verify(command, commit);
  if (!attested) return tell(attested.error());
  if (command.json) {
    print_json(attested_json(commit, *attested));
  } else if (attested->mismatches.empty()) {
    print(text_of(commit, *attested));
  }
  for (const Mismatch& mismatch : attested->mismatches)
    say(fmt::format("{}: {}: {}", mismatch.statement, mismatch.field, mismatch.detail));
  return attested->mismatches.empty() ? kExitOk : kExitRejected;
}

int run_command(const AttestShowCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get(task_path(command.task, "/attestations"));
  if (!answer) return answer.error();
  print(escape_json(answer->body));
  return kExitOk;
}

int run_command(const AttestKeyCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get("/v1/keys");
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::string> pem = read_key(answer->body);
  if (!pem) return tell(pem.error());
  print(escape_text(*pem));
  return kExitOk;
}

}  // namespace runner::cli
