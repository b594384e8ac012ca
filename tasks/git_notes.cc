#include "tasks/git_notes.h"

#include <git2.h>

#include <ctime>

#include "sandbox/os/digest.h"
#include "tasks/git_handle.h"
#include "tasks/policy.h"

namespace tasks::git {
namespace {

struct FreeNote {
  void operator()(git_note* note) const { git_note_free(note); }
};

}  // namespace

os::Result<std::string> read_note(const Repository& repository, const std::string& ref,
                                  const CommitId& commit) {
  const git_oid id = to_oid(commit.hex());
  git_note* raw = nullptr;
  const int code = git_note_read(&raw, repository.handle(), ref.c_str(), &id);
  if (code < 0) return fail_git(code, "note of " + commit.hex());
  const std::unique_ptr<git_note, FreeNote> note(raw);
  const std::string text = git_note_message(note.get());
  if (text.size() > kMaxNote)
    return os::fail(os::Code::exhausted, "the note of " + commit.hex() + " is too large");
  return text;
}

os::Result<void> write_note(const Repository& repository, const std::string& ref,
                            const CommitId& commit, const std::string& text) {
  TRY(repository.commit(commit));
  // Again after a crash: nothing to do.
  if (const auto kept = read_note(repository, ref, commit); kept && *kept == text) return {};
  const SignatureHandle signature = TRY(make<SignatureHandle>("signature", [](git_signature** out) {
    return git_signature_new(out, "proofhouse", "serve@proofhouse.invalid", std::time(nullptr), 0);
  }));
  const git_oid id = to_oid(commit.hex());
  git_oid note{};
  const int code = git_note_create(&note, repository.handle(), ref.c_str(), signature.get(),
                                   signature.get(), &id, text.c_str(), 1);
  if (code < 0) return fail_git(code, "note of " + commit.hex());
  return {};
}

os::Result<PolicyFile> policy_file(const Repository& repository, const CommitId& commit) {
  const Commit found = TRY(repository.commit(commit));
  const Repository::File file = TRY(repository.find_file(found.tree, std::string(kPolicyFile)));
  return PolicyFile{file.id, os::sha256(TRY(repository.read(file.id)).bytes).hex()};
}

}  // namespace tasks::git
