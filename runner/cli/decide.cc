// approve, refuse and abstain: a reviewer's decision on a change that was looked at.
#include <unistd.h>

#include <cstddef>
#include <expected>
#include <iostream>
#include <string>

#include "runner/cli/answers.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"

namespace runner::cli {
namespace {

// Abbreviations of a commit shorter than git's own are no sign that it was looked at.
constexpr std::size_t kShortestCommit = 7;

// Shows the change to the person at the terminal and asks.
Told<bool> ask(Session& session, const DecideCommand& command, const TaskAnswer& task) {
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    say("there is no terminal to ask at: give --commit OID --yes for the candidate you reviewed");
    return std::unexpected(kExitUsage);
  }
  const Told<HttpAnswer> diff = session.get(task_path(task.id, "/diff"));
  if (!diff) return std::unexpected(diff.error());
  std::cerr << escape_text(diff->body) << '\n'
            << task_text(task) << '\n'
            << (command.abstains   ? "Abstain from"
                : command.approves ? "Approve"
                                   : "Refuse")
            << " this change? [y/N] " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

// True if the decision is to be sent.
Told<bool> is_meant(Session& session, const DecideCommand& command, const TaskAnswer& task) {
  const bool is_named =
      command.commit.size() >= kShortestCommit && task.candidate.starts_with(command.commit);
  if (!command.commit.empty() && !is_named) {
    say("the candidate of " + task.id + " is " + task.candidate + ", not " + command.commit +
        "; look at it again");
    return std::unexpected(kExitConflict);
  }
  if (!command.yes) return ask(session, command, task);
  if (command.commit.empty()) {
    say("--yes needs --commit OID: the candidate that you reviewed");
    return std::unexpected(kExitUsage);
  }
  return true;
}

}  // namespace

int run_command(const DecideCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> seen = session->get(task_path(command.task));
  if (!seen) return seen.error();
  const os::Result<TaskAnswer> task = read_task(seen->body);
  if (!task) return tell(task.error());
  const Told<bool> meant = is_meant(*session, command, *task);
  if (!meant) return meant.error();
  if (!*meant) {
    say("nothing was decided");
    return kExitInterrupted;
  }
  HttpCall call;
  call.method = "POST";
  call.path = task_path(command.task, "/approvals");
  call.headers["If-Match"] = '"' + task->etag + '"';
  call.body = decision_body(command, *task);
  const Told<HttpAnswer> answer = session->call(call);
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<TaskAnswer> decided = read_task(answer->body);
  if (!decided) return tell(decided.error());
  print(task_text(*decided));
  return kExitOk;
}

}  // namespace runner::cli
