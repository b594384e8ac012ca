#include "runner/git/git_client.h"

#include <cstdlib>

#include "runner/attest/names.h"
#include "sandbox/os/process.h"

namespace runner {
namespace {

bool is_remote_work(GitOperation operation) {
  switch (operation) {
    case GitOperation::fetch:
    case GitOperation::push:
    case GitOperation::remote_tip:
    case GitOperation::clone_bare:
      return true;
    case GitOperation::tip:
    case GitOperation::add_pack:
    case GitOperation::update_ref:
    case GitOperation::is_ancestor:
    case GitOperation::inspect:
    case GitOperation::policy_at:
    case GitOperation::add_note:
      return false;
  }
  return true;
}

os::Code code_named(const std::string& name) {
  for (const os::Code code : {os::Code::invalid, os::Code::not_found, os::Code::conflict,
                              os::Code::denied, os::Code::exhausted, os::Code::unavailable,
                              os::Code::timeout, os::Code::cancelled, os::Code::corrupt})
    if (os::code_name(code) == name) return code;
  return os::Code::internal;
}

// ssh looks for known hosts below HOME and for keys at its agent.
std::vector<std::string> environment() {
  std::vector<std::string> variables{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC"};
  for (const char* const name : {"HOME", "SSH_AUTH_SOCK"})
    if (const char* const value = std::getenv(name); value != nullptr)
      variables.push_back(std::string(name) + "=" + value);
  return variables;
}

GitRequest request_for(GitOperation operation, const Project& project) {
  GitRequest request;
  request.operation = operation;
  request.repository = project.repository;
  request.ref = project.target;
  request.url = project.url;
  return request;
}

os::Result<GitTip> tip_of(const GitAnswer& answer) {
  if (answer.commit.empty() || answer.tree.empty())
    return os::fail(os::Code::not_found, "the target's commit is not in the repository yet");
  return GitTip{answer.commit, answer.tree};
}

}  // namespace

os::Result<GitAnswer> to_result(GitAnswer answer) {
  if (!answer.error_code.empty())
    return os::fail(code_named(answer.error_code), answer.error_message);
  return answer;
}

os::Result<GitAnswer> GitClient::ask(GitRequest request) const {
  request.file_urls = request.file_urls || options_.file_urls;
  request.credential_file = options_.credential_file;
  request.hidden = options_.hidden;
  request.schemes = options_.schemes;
  const std::string line = encode(request) + "\n";
  const os::Fd input = TRY(os::sealed_memory_file("git-request", line));
  os::SpawnRequest spawn;
  spawn.program = options_.program;
  spawn.arguments = options_.arguments;
  spawn.environment = environment();
  spawn.standard_input = input.get();
  spawn.new_session = true;
  spawn.die_with_parent = true;
  const auto deadline =
      is_remote_work(request.operation) ? options_.remote_deadline : options_.local_deadline;
  const os::Captured captured =
      TRY_CONTEXT(os::run_captured(std::move(spawn), deadline, kMaxGitLine), "git helper");
  if (!captured.status.is_success())
    return os::fail(os::Code::internal, "the git helper ended with code " +
                                            std::to_string(captured.status.code) + ", signal " +
                                            std::to_string(captured.status.signal));
  return to_result(TRY(decode_git_answer(captured.output)));
}

os::Result<GitTip> GitClient::tip(const Project& project) {
  const bool is_remote = project.authority == Authority::remote;
  return tip_of(
      TRY(ask(request_for(is_remote ? GitOperation::fetch : GitOperation::tip, project))));
}

os::Result<void> GitClient::land(const Project& project, const GitLanding& landing) {
  if (!landing.pack.empty()) {
    GitRequest add = request_for(GitOperation::add_pack, project);
    add.pack = landing.pack;
    add.index = landing.index;
    add.to = landing.to;
    TRY(ask(std::move(add)));
  }
  const bool is_remote = project.authority == Authority::remote;
  GitRequest move = request_for(is_remote ? GitOperation::push : GitOperation::update_ref, project);
  move.from = landing.from;
  move.to = landing.to;
  TRY(ask(std::move(move)));
  return {};
}

os::Result<GitTip> GitClient::read_back(const Project& project) {
  // A fetch reads the remote and brings the commit, so that its tree is known.
  return tip(project);
}

os::Result<bool> GitClient::is_ancestor(const Project& project, const tasks::CommitId& ancestor,
                                        const tasks::CommitId& commit) {
  GitRequest request = request_for(GitOperation::is_ancestor, project);
  request.from = ancestor;
  request.to = commit;
  return TRY(ask(std::move(request))).holds;
}

os::Result<PolicyFileId> GitClient::policy_at(const Project& project,
                                              const tasks::CommitId& commit) {
  GitRequest request = request_for(GitOperation::policy_at, project);
  request.to = commit;
  GitAnswer answer = TRY(ask(std::move(request)));
  return PolicyFileId{.blob = std::move(answer.policy_blob),
                      .sha256 = std::move(answer.policy_sha256)};
}

os::Result<void> GitClient::add_note(const Project& project, const tasks::CommitId& commit,
                                     const std::string& note) {
  GitRequest request = request_for(GitOperation::add_note, project);
  request.ref = kNotesRef;
  request.to = commit;
  request.note = note;
  TRY(ask(std::move(request)));
  return {};
}

os::Result<void> GitClient::prepare(const Project& project, const ProjectSpec& spec) {
  const bool is_remote = project.authority == Authority::remote;
  if (is_remote || spec.import) {
    GitRequest clone = request_for(GitOperation::clone_bare, project);
    clone.url = is_remote ? spec.url : spec.repository;
    clone.tracked = is_remote;
    // Who registers a repository of this machine is an admin.
    clone.file_urls = !is_remote;
    TRY(ask(std::move(clone)));
  }
  // Of a remote's copy the branches are elsewhere; cloning has proven that the target is there.
  if (is_remote) return {};
  const GitAnswer answer = TRY(ask(request_for(GitOperation::inspect, project)));
  if (answer.obstacles.empty()) return {};
  std::string text = project.repository + " cannot be registered";
  for (const GitObstacle& obstacle : answer.obstacles) text += "\n  " + obstacle.text;
  return os::fail(os::Code::conflict, std::move(text));
}

}  // namespace runner
