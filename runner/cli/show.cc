// show, list, why, cancel, rejudge, logs: read a server's tasks.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "runner/cli/answers.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"
#include "sandbox/os/escape.h"

namespace runner::cli {
namespace {

constexpr std::chrono::milliseconds kFollowPause{500};
constexpr std::int64_t kChunk = 1 << 20;

// Prints the task of an answer.
int print_task(const Session& session, const HttpAnswer& answer) {
  if (session.is_json()) {
    print_json(answer.body);
    return kExitOk;
  }
  const os::Result<TaskAnswer> task = read_task(answer.body);
  if (!task) return tell(task.error());
  print(task_text(*task));
  return kExitOk;
}

std::int64_t number_of(const HttpAnswer& answer, const char* header) {
  const std::string text = answer.header(header);
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int list_steps(Session& session, const std::string& id) {
  const Told<HttpAnswer> answer = session.get(task_path(id));
  if (!answer) return answer.error();
  const os::Result<TaskAnswer> task = read_task(answer->body);
  if (!task) return tell(task.error());
  for (const std::string& step : task->steps) print(escape_line(step) + "\n");
  return kExitOk;
}

// Prints a log piece by piece; what is cut off a character at the end of one waits for the next.
class LogPrinter {
 public:
  explicit LogPrinter(bool raw) : raw_(raw) {}
  void print_piece(std::string_view piece) {
    if (raw_) return print(piece);
    rest_ += piece;
    const std::size_t held = unfinished_bytes(rest_);
    print(escape_text(std::string_view(rest_).substr(0, rest_.size() - held)));
    rest_.erase(0, rest_.size() - held);
  }
  void finish() { print(escape_text(rest_)); }

 private:
  bool raw_;
  std::string rest_;
};

int print_log(Session& session, const LogsCommand& command) {
  LogPrinter printer(command.raw);
  std::int64_t offset = 0;
  say_on_interrupt("");
  while (true) {
    const Told<HttpAnswer> answer =
        session.get(task_path(command.task, "/logs/" + os::percent_encode(command.step)) +
                    fmt::format("?offset={}&limit={}", offset, kChunk));
    if (!answer) return answer.error();
    const std::int64_t from = std::max(number_of(*answer, "x-log-offset"), offset);
    if (from > offset && !answer->body.empty())
      say(fmt::format("{} bytes were not kept here", from - offset));
    printer.print_piece(answer->body);
    if (!answer->body.empty()) {
      offset = from + static_cast<std::int64_t>(answer->body.size());
      continue;
    }
    if (!command.follow || answer->header("x-log-finished") == "1") break;
    std::this_thread::sleep_for(kFollowPause);
  }
  printer.finish();
  return kExitOk;
}

}  // namespace

int run_command(const ShowCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get(task_path(command.task));
  return answer ? print_task(*session, *answer) : answer.error();
}

int run_command(const CancelCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  HttpCall call;
  call.method = "DELETE";
  call.path = task_path(command.task);
  const Told<HttpAnswer> answer = session->call(call);
  return answer ? print_task(*session, *answer) : answer.error();
}

int run_command(const ListCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  std::string path = fmt::format("/v1/tasks?limit={}", command.limit);
  for (const auto& [name, value] :
       {std::pair{"project", &command.project}, std::pair{"state", &command.state},
        std::pair{"principal", &command.principal}})
    if (!value->empty()) path += fmt::format("&{}={}", name, os::percent_encode(*value));
  const Told<HttpAnswer> answer = session->get(path);
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<TaskList> list = read_tasks(answer->body);
  if (!list) return tell(list.error());
  print(task_table(list->tasks));
  if (!list->next.empty()) say("there are more; see --limit, --project, --state");
  return kExitOk;
}

int run_command(const WhyCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->get(task_path(command.task, "/why"));
  if (!answer) return answer.error();
  if (session->is_json()) {
    print_json(answer->body);
    return kExitOk;
  }
  const os::Result<WhyAnswer> why = read_why(answer->body);
  if (!why) return tell(why.error());
  print(fmt::format("{}: {}\n", escape_line(why->state), escape_line(why->text)));
  if (!why->next_step.empty()) print(fmt::format("next: {}\n", escape_line(why->next_step)));
  return kExitOk;
}

int run_command(const RejudgeCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  const Told<HttpAnswer> answer = session->post(task_path(command.task, "/rejudge"), "{}");
  if (!answer) return answer.error();
  const os::Result<bool> same = read_flag(answer->body, "same");
  if (!same) return tell(same.error());
  if (session->is_json())
    print_json(answer->body);
  else
    print(*same ? "the same verdict, byte for byte\n" : "another verdict\n");
  if (!*same) say("the kept evidence is judged differently now: this is a fault of Proofhouse");
  return *same ? kExitOk : kExitError;
}

int run_command(const LogsCommand& command) {
  Told<Session> session = Session::open(command.server);
  if (!session) return session.error();
  if (command.step.empty()) return list_steps(*session, command.task);
  if (command.raw) return print_log(*session, command);
  const CommandFence fence;
  return print_log(*session, command);
}

}  // namespace runner::cli
