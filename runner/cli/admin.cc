// project, token, login, policy show, status: what an operator sets up and looks at.
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "runner/cli/answers.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/proof_answers.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "runner/limits.h"
#include "sandbox/os/escape.h"
#include "sandbox/os/files.h"

namespace runner::cli {
namespace {

constexpr int kStatusConflict = 409;

std::vector<std::string> project_row(const ProjectAnswer& project) {
  std::string state = project.authority;
  if (project.holds_policy) state += ", policy held here";
  if (!project.frozen.empty()) state += ", frozen: " + project.frozen;
  return {project.name, project.target, project.url.empty() ? project.repository : project.url,
          state};
}

// The paths of a server's machine are absolute.
std::string absolute_path(const std::string& path) {
  if (path.empty()) return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

int print_project(const Session& session, const HttpAnswer& answer) {
  if (session.is_json()) {
    print_json(answer.body);
    return kExitOk;
  }
  const os::Result<ProjectAnswer> project = read_project(answer.body);
  if (!project) return tell(project.error());
  print(table({project_row(*project)}));
  return kExitOk;
}

int print_ready(Session& session, const HttpAnswer& answer) {
  const os::Result<ReadyAnswer> ready = read_ready(answer.body);
  if (!ready) return tell(ready.error());
  print(fmt::format("{}: {}\n", session.client().url(), ready->ready ? "ready" : "not ready"));
  for (const std::string& problem : ready->problems)
    print(fmt::format("  {}\n", escape_line(problem)));
  return ready->ready ? kExitOk : kExitError;
}

}  // namespace

int run_command(const PolicyShowCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer =
      session->get("/v1/projects/" + os::percent_encode(command.project) + "/policy");
  if (!answer) return answer.error();
  if (session->is_json())
    print_json(answer->body);
  else
    print(escape_json(pretty(answer->body)) + "\n");
  return kExitOk;
}

int run_command(const ProjectAddCommand& command) {
  ProjectAddCommand spec = command;
  std::string policy;
  if (!command.policy_file.empty()) {
    const os::Result<std::string> text = os::read_file(command.policy_file, kPolicyFileLimit);
    if (!text) {
      say(text.error().message);
      return kExitUsage;
    }
    policy = *text;
  }
  if (spec.authority == "local" && spec.repository.empty()) {
    say("--repo PATH is needed: the repository that holds the branch");
    return kExitUsage;
  }
  if (spec.authority == "remote" && spec.url.empty()) {
    say("--authority remote needs --url URL");
    return kExitUsage;
  }
  spec.repository = absolute_path(spec.repository);
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->post("/v1/projects", project_body(spec, policy));
  if (!answer) return answer.error();
  return print_project(*session, *answer);
}

int run_command(const ProjectListCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get("/v1/projects");
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::vector<ProjectAnswer>> projects = read_projects(answer->body);
  if (!projects) return tell(projects.error());
  std::vector<std::vector<std::string>> rows{{"name", "target", "repository", "authority"}};
  for (const ProjectAnswer& project : *projects) rows.push_back(project_row(project));
  print(table(rows));
  return kExitOk;
}

int run_command(const ProjectFreezeCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer =
      session->post("/v1/projects/" + os::percent_encode(command.name) +
                        (command.is_end ? "/unfreeze" : "/freeze"),
                    command.is_end ? "{}" : reason_body(command.reason));
  if (!answer) return answer.error();
  return print_project(*session, *answer);
}

int run_command(const TokenCreateCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  HttpCall call;
  call.method = "POST";
  call.path = "/v1/principals";
  call.body = principal_body(command);
  const os::Result<HttpAnswer> made = session->client().send(call);
  if (!made) return tell(made.error());
  // One that is there already gets a further token.
  if (made->status >= 400 && made->status != kStatusConflict)
    return tell_refusal(*made, session->is_json());
  for (const std::string& role : command.roles) {
    const Told<HttpAnswer> granted = session->post("/v1/grants", grant_body(command, role));
    if (!granted) return granted.error();
  }
  const Told<HttpAnswer> answer = session->post("/v1/tokens", token_body(command));
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::vector<std::string>> texts =
      read_texts(answer->body, {"token", "id", "expires_at"});
  if (!texts) return tell(texts.error());
  print(escape_line(texts->at(0)) + "\n");
  say("token " + texts->at(1) + " of " + command.principal + " is good until " + texts->at(2) +
      "; it is shown only now");
  return kExitOk;
}

int run_command(const TokenRevokeCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  HttpCall call;
  call.method = "DELETE";
  call.path = "/v1/tokens/" + os::percent_encode(command.id);
  const Told<HttpAnswer> answer = session->call(call);
  if (!answer) return answer.error();
  if (session->is_json()) print_json("{\"revoked\":true}");
  say("token " + command.id + " is worthless now");
  return kExitOk;
}

int run_command(const LoginCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->post("/v1/login-codes", "{}");
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::vector<std::string>> texts = read_texts(answer->body, {"code"});
  if (!texts) return tell(texts.error());
  print(escape_line(texts->at(0)) + "\n");
  say("type it within five minutes, once, at " + session->client().url() + "/login");
  return kExitOk;
}

int run_command(const TokenListCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer =
      session->get("/v1/tokens?principal=" + os::percent_encode(command.principal));
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<std::vector<TokenAnswer>> tokens = read_tokens(answer->body);
  if (!tokens) return tell(tokens.error());
  std::vector<std::vector<std::string>> rows{
      {"id", "principal", "minted by", "last used", "good until"}};
  for (const TokenAnswer& token : *tokens)
    rows.push_back({token.id, token.principal, token.minted_by,
                    token.last_used_at.empty() ? "never" : token.last_used_at,
                    token.revoked_at.empty() ? token.expires_at : "revoked " + token.revoked_at});
  print(table(rows));
  return kExitOk;
}

int run_command(const StatusCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  HttpCall call;
  call.path = "/readyz";
  // Not tried again: "not ready" is the answer.
  std::string body;
  const os::Result<HttpAnswer> ready = session->client().stream(call, [&](std::string_view piece) {
    body += piece;
    return body.size() <= Client::kMaxAnswer;
  });
  if (!ready) return tell(ready.error());
  const Told<HttpAnswer> machines = session->get("/v1/machines");
  if (!machines) return machines.error();
  if (session->is_json()) {
    print_json(status_json(body, machines->body));
    return ready->status == 200 ? kExitOk : kExitError;
  }
  HttpAnswer answer = *ready;
  answer.body = body;
  const int code = print_ready(*session, answer);
  const os::Result<std::vector<MachineAnswer>> list = read_machines(machines->body);
  if (!list) return tell(list.error());
  std::vector<std::vector<std::string>> rows{
      {"host", "sandbox", "CPUs free", "memory free", "queued", "running"}};
  for (const MachineAnswer& machine : *list)
    rows.push_back({machine.host, machine.level,
                    fmt::format("{} of {}", machine.cpus_free, machine.cpus),
                    fmt::format("{} of {} MiB", machine.memory_free >> 20, machine.memory >> 20),
                    std::to_string(machine.queued), std::to_string(machine.running)});
  print(table(rows));
  return code;
}

}  // namespace runner::cli
