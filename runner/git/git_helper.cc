#include "runner/git/git_helper.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sandbox/os/fd.h"
#include "sandbox/os/hidden_paths.h"
#include "tasks/git.h"
#include "tasks/git_history.h"
#include "tasks/git_notes.h"
#include "tasks/git_refs.h"
#include "tasks/git_remote.h"

#ifdef __SANITIZE_ADDRESS__
// libgit2 1.5 and its pcre2 leak in ways that no caller can mend; a helper's exit code must not say
// so.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libgit2.so\nleak:libpcre2-8.so\n";
}
#endif

namespace runner {
namespace {

namespace git = tasks::git;

os::Result<void> bound(decltype(RLIMIT_CORE) resource, rlim_t most) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return os::fail_errno("read a limit");
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(resource, &limit) != 0) return os::fail_errno("set a limit");
  return {};
}

os::Result<void> bound_ourselves() {
  TRY(bound(RLIMIT_CORE, 0));
  TRY(bound(RLIMIT_NOFILE, 256));
  TRY(bound(RLIMIT_CPU, 600));
#ifndef __SANITIZE_ADDRESS__  // its shadow memory counts as data
  TRY(bound(RLIMIT_DATA, 4ULL << 30U));
#endif
  return bound(RLIMIT_FSIZE, 16ULL << 30U);
}

git::FileUrls file_urls(const GitRequest& request) {
  return request.file_urls ? git::FileUrls::allow : git::FileUrls::refuse;
}

// The remote of a request, its address checked here: this is the process that goes there.
os::Result<git::Remote> remote_of(const GitRequest& request) {
  TRY(git::check_url(request.url, file_urls(request), request.schemes));
  return git::Remote{request.url, request.credential_file};
}

os::Result<GitAnswer> tip_answer(const git::Repository& repository, const std::string& ref) {
  git::Tip tip = TRY(git::read_tip(repository, ref));
  GitAnswer answer;
  answer.commit = tip.commit;
  answer.tree = tip.tree;
  answer.policy_blob = std::move(tip.policy_blob);
  answer.policy_sha256 = std::move(tip.policy_sha256);
  return answer;
}

os::Result<GitAnswer> fetch(const GitRequest& request) {
  const git::Remote remote = TRY(remote_of(request));
  TRY(git::fetch(TRY(git::Repository::open(request.repository)), remote, request.ref));
  return tip_answer(TRY(git::Repository::open(request.repository)), git::tracking_ref(request.ref));
}

os::Result<GitAnswer> push(const GitRequest& request) {
  const git::Remote remote = TRY(remote_of(request));
  TRY(git::push(TRY(git::Repository::open(request.repository)), remote,
                {request.ref, request.from, request.to}));
  GitAnswer answer;
  answer.commit = TRY(git::remote_tip(remote, request.ref));
  return answer;
}

os::Result<GitAnswer> remote_tip(const GitRequest& request) {
  GitAnswer answer;
  answer.commit = TRY(git::remote_tip(TRY(remote_of(request)), request.ref));
  const git::Repository repository = TRY(git::Repository::open(request.repository));
  const os::Result<git::Commit> commit = repository.commit(answer.commit);
  if (commit) answer.tree = commit->tree;
  return answer;
}

os::Result<GitAnswer> inspect(const GitRequest& request) {
  GitAnswer answer;
  for (git::Obstacle& obstacle : TRY(git::inspect(request.repository, request.ref)))
    answer.obstacles.push_back({std::move(obstacle.code), std::move(obstacle.text)});
  return answer;
}

os::Result<GitAnswer> clone_bare(const GitRequest& request) {
  git::CloneSpec spec{TRY(remote_of(request)), request.repository, request.ref,
                      git::CloneSpec::Branches::ours};
  if (request.tracked) spec.branches = git::CloneSpec::Branches::tracked;
  TRY(git::clone_bare(spec));
  return GitAnswer{};
}

os::Result<GitAnswer> answer_or_fail(const GitRequest& request) {
  switch (request.operation) {
    case GitOperation::tip:
      return tip_answer(TRY(git::Repository::open(request.repository)), request.ref);
    case GitOperation::fetch:
      return fetch(request);
    case GitOperation::add_pack:
      TRY(git::add_pack_files(request.repository, {request.pack, request.index, request.to}));
      return GitAnswer{};
    case GitOperation::update_ref:
      TRY(git::move_ref(TRY(git::Repository::open(request.repository)),
                        {request.ref, request.from, request.to}));
      return GitAnswer{};
    case GitOperation::push:
      return push(request);
    case GitOperation::remote_tip:
      return remote_tip(request);
    case GitOperation::is_ancestor: {
      GitAnswer answer;
      answer.holds = TRY(git::descends_from(TRY(git::Repository::open(request.repository)),
                                            request.to, request.from));
      return answer;
    }
    case GitOperation::inspect:
      return inspect(request);
    case GitOperation::clone_bare:
      return clone_bare(request);
    case GitOperation::policy_at: {
      git::PolicyFile file =
          TRY(git::policy_file(TRY(git::Repository::open(request.repository)), request.to));
      GitAnswer answer;
      answer.policy_blob = std::move(file.blob);
      answer.policy_sha256 = std::move(file.sha256);
      return answer;
    }
    case GitOperation::add_note:
      TRY(git::write_note(TRY(git::Repository::open(request.repository)), request.ref, request.to,
                          request.note));
      return GitAnswer{};
  }
  return os::fail(os::Code::internal, "unknown operation");
}

GitAnswer from_error(const os::Error& error) {
  GitAnswer answer;
  answer.error_code = os::code_name(error.code);
  answer.error_message = error.message;
  return answer;
}

// A path of this machine in an address; empty: it has none.
std::string path_of(const std::string& url) {
  constexpr std::string_view kFile = "file://";
  if (url.starts_with(kFile)) return url.substr(kFile.size());
  return url.starts_with('/') ? url : std::string();
}

// Before the library reads anything: what it has been made to do by a damaged repository or a
// remote ends here.
os::Result<void> hide_secrets(const GitRequest& request) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return os::fail_errno("no_new_privs");
  TRY(os::hide_paths(request.hidden, {request.repository, request.pack, request.index,
                                      request.credential_file, path_of(request.url)}));
  return {};
}

os::Result<GitAnswer> read_and_answer() {
  TRY(bound_ourselves());
  const std::string line = TRY(os::read_all(STDIN_FILENO, kMaxGitLine));
  const GitRequest request = TRY(decode_git_request(line));
  TRY(hide_secrets(request));
  const git::Session session = TRY(git::Session::start(git::Use::repositories));
  return answer_git_request(request);
}

}  // namespace

GitAnswer answer_git_request(const GitRequest& request) {
  // An id that an operation needs but was left out must not reach the library.
  const bool needs_both = request.operation == GitOperation::update_ref ||
                          request.operation == GitOperation::push ||
                          request.operation == GitOperation::is_ancestor;
  const bool lacks_from = needs_both && request.from.empty();
  const bool needs_to = needs_both || request.operation == GitOperation::add_pack ||
                        request.operation == GitOperation::policy_at ||
                        request.operation == GitOperation::add_note;
  if (lacks_from || (needs_to && request.to.empty()))
    return from_error({os::Code::invalid, "the request names no commit", 0});
  const os::Result<GitAnswer> answer = answer_or_fail(request);
  return answer ? *answer : from_error(answer.error());
}

int run_git_helper() {
  const os::Result<GitAnswer> answer = read_and_answer();
  const GitAnswer said = answer ? *answer : from_error(answer.error());
  return os::write_all(STDOUT_FILENO, encode(said) + "\n") ? 0 : 2;
}

}  // namespace runner
