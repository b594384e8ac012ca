// submit, run and wait: post a change, and follow it to its verdict.
#include <unistd.h>

#include <cstddef>
#include <expected>
#include <string>
#include <vector>

#include "runner/cli/answers.h"
#include "runner/cli/commands.h"
#include "runner/cli/commit_pack.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "runner/cli/wait.h"
#include "sandbox/os/escape.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace runner::cli {
namespace {

// The server takes 8 MiB of body at most; what is larger is refused there, with a better word.
constexpr std::size_t kPatchLimit = 16U << 20U;

int finish(const Session& session, const Waited& waited) {
  if (session.is_json())
    print_json(waited.json);
  else
    print(task_text(waited.task));
  const int code = exit_code_of(waited.task.end);
  if (code == kExitWaiting)
    say(waited.task.id + " is still " + waited.task.end.state + "; to wait on: proofhouse wait " +
        waited.task.id);
  return code;
}

os::Result<std::string> read_patch(const std::string& file) {
  if (file == "-") return os::read_all(STDIN_FILENO, kPatchLimit);
  return os::read_file(file, kPatchLimit);
}

Told<std::string> target_of(Session& session, const std::string& project) {
  const Told<HttpAnswer> answer = session.get("/v1/projects");
  if (!answer) return std::unexpected(answer.error());
  const os::Result<std::vector<ProjectAnswer>> projects = read_projects(answer->body);
  if (!projects) return std::unexpected(tell(projects.error()));
  for (const ProjectAnswer& each : *projects)
    if (each.name == project) return each.target;
  say("there is no project " + project + ", or you have no role in it");
  return std::unexpected(kExitNotFound);
}

// What of the change goes into the POST.
struct Change {
  std::string patch, commit, pack, base;
};

Told<Change> prepare_commit(Session& session, const SubmitCommand& command) {
  const Told<std::string> target = target_of(session, command.project);
  if (!target) return std::unexpected(target.error());
  const os::Result<CommitPack> packed = pack_commit(
      {.repository = {}, .commit = command.commit, .base = command.base, .target = *target});
  if (!packed) return std::unexpected(tell(packed.error()));
  Change change{.patch = {}, .commit = packed->commit, .pack = {}, .base = packed->base};
  if (packed->pack.empty()) return change;
  HttpCall call;
  call.method = "POST";
  call.path = "/v1/projects/" + os::percent_encode(command.project) + "/packs";
  call.content_type = "application/octet-stream";
  call.body = packed->pack;
  const Told<HttpAnswer> answer = session.call(call);
  if (!answer) return std::unexpected(answer.error());
  const os::Result<std::vector<std::string>> id = read_texts(answer->body, {"id"});
  if (!id) return std::unexpected(tell(id.error()));
  change.pack = id->front();
  return change;
}

Told<Change> prepare(Session& session, const SubmitCommand& command) {
  if (!command.commit.empty()) return prepare_commit(session, command);
  Change change{.patch = {}, .commit = {}, .pack = {}, .base = command.base};
  if (command.patch_file.empty()) return change;
  const os::Result<std::string> patch = read_patch(command.patch_file);
  if (!patch) {
    say(patch.error().message);
    return std::unexpected(kExitUsage);
  }
  change.patch = *patch;
  return change;
}

Told<Waited> post_task(Session& session, const SubmitCommand& command, const Change& change) {
  const std::string key = command.key.empty() ? "cli-" + os::random_hex(16) : command.key;
  SubmitCommand resolved = command;
  resolved.base = change.base;
  HttpCall call;
  call.method = "POST";
  call.path = "/v1/tasks";
  call.headers["Idempotency-Key"] = key;
  call.body = submission_body(resolved, change.patch, change.commit, change.pack);
  say_on_interrupt("the change may have been posted; look with: proofhouse list");
  const os::Result<HttpAnswer> answer = session.client().send(call);
  if (!answer) {
    say(answer.error().message + "\nthe change may have been posted; the same command with --key " +
        key + " posts it once");
    return std::unexpected(exit_code_of(answer.error()));
  }
  if (answer->status >= 400) return std::unexpected(tell_refusal(*answer, session.is_json()));
  const os::Result<TaskAnswer> task = read_task(answer->body);
  if (!task) return std::unexpected(tell(task.error()));
  return Waited{*task, answer->body};
}

}  // namespace

int run_command(const SubmitCommand& command) {
  if (command.patch_file.empty() && command.commit.empty() && command.intent != "run") {
    say("nothing to submit: give --patch FILE or --commit REVISION");
    return kExitUsage;
  }
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<Change> change = prepare(*session, command);
  if (!change) return change.error();
  const Told<Waited> posted = post_task(*session, command, *change);
  if (!posted) return posted.error();
  if (!command.wait) {
    if (session->is_json())
      print_json(posted->json);
    else
      print(escape_line(posted->task.id) + "\n");
    return kExitOk;
  }
  say("posted " + posted->task.id);
  const Told<Waited> waited = wait_for_task(
      *session, {.task = posted->task.id, .timeout = command.timeout, .until_done = false});
  return waited ? finish(*session, *waited) : waited.error();
}

int run_command(const WaitCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<Waited> waited = wait_for_task(
      *session,
      {.task = command.task, .timeout = command.timeout, .until_done = command.until_done});
  return waited ? finish(*session, *waited) : waited.error();
}

}  // namespace runner::cli
