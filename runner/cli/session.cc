#include "runner/cli/session.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "runner/cli/answers.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/escape.h"

namespace runner::cli {
namespace {

// What the handler prints; two places, so that a signal never meets a half-written one.
std::array<std::array<char, 512>, 2> g_notices{};
std::atomic<std::size_t> g_notice_length{0};
std::atomic<unsigned> g_notice_place{0};

void on_interrupt(int /*signal*/) {
  const auto& notice = g_notices[g_notice_place.load() % 2];
  // Nothing can be done about a failing write here.
  [[maybe_unused]] const ssize_t wrote =
      ::write(STDERR_FILENO, notice.data(), g_notice_length.load());
  ::_exit(kExitInterrupted);
}

}  // namespace

int tell(const os::Error& error) {
  say(error.message);
  return exit_code_of(error);
}

int tell_refusal(const HttpAnswer& answer, bool json) {
  const Problem problem = read_problem(answer.body);
  std::string text = problem.detail.empty()
                         ? "the server answers with status " + std::to_string(answer.status)
                         : problem.detail;
  if (!problem.code.empty()) text = problem.code + ": " + text;
  for (const auto& [pointer, detail] : problem.fields) {
    if (detail == problem.detail) continue;
    text += "\n  ";
    text += pointer + ": " + detail;
  }
  for (const auto& [name, value] : problem.extra) {
    text += "\n  ";
    text += name + ": " + value;
  }
  if (!problem.next_step.empty()) text += "\n  next: " + problem.next_step;
  say(text);
  if (json && !problem.code.empty()) print_json(answer.body);
  return exit_code_of_status(answer.status);
}

Told<Session> Session::open(const ServerFlags& flags) {
  const os::Result<ServerAddress> address = find_server(flags, address_sources());
  if (!address) {
    say(address.error().message);
    // No server to speak with is the same to a caller as one that does not answer.
    return std::unexpected(
        address.error().code == os::Code::not_found ? kExitError : exit_code_of(address.error()));
  }
  return Session(*address, flags.json);
}

Told<HttpAnswer> Session::call(const HttpCall& call) {
  const os::Result<HttpAnswer> answer = client_.send(call);
  if (!answer) return std::unexpected(tell(answer.error()));
  if (answer->status >= 400) {
    const int code = tell_refusal(*answer, json_);
    if (answer->status == 401)
      say(address_.token.empty() ? "no token was found; see `proofhouse --help`"
                                 : "the token is from " + address_.token_from +
                                       ", the server from " + address_.url_from);
    return std::unexpected(code);
  }
  return *answer;
}

Told<HttpAnswer> Session::get(const std::string& path) {
  HttpCall request;
  request.path = path;
  return call(request);
}

Told<HttpAnswer> Session::post(const std::string& path, const std::string& body) {
  HttpCall request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  return call(request);
}

std::string task_path(const std::string& id, std::string_view rest) {
  return "/v1/tasks/" + os::percent_encode(id) + std::string(rest);
}

void say_on_interrupt(std::string_view notice) {
  const std::string text = notice.empty() ? "" : "\n" + escape_text(notice) + "\n";
  const unsigned next = g_notice_place.load() + 1;
  auto& place = g_notices[next % 2];
  const std::size_t length = std::min(text.size(), place.size());
  std::copy_n(text.begin(), length, place.begin());
  g_notice_place = next;
  g_notice_length = length;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &action, nullptr);
}

}  // namespace runner::cli
