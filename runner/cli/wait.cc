#include "runner/cli/wait.h"

#include <algorithm>
#include <chrono>
#include <expected>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "runner/cli/exit_code.h"
#include "runner/cli/sse.h"
#include "runner/cli/task_text.h"
#include "runner/cli/terminal.h"

namespace runner::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// How long one request waits on the server; below the minute that it allows.
constexpr seconds kPoll{30};
// How long a server may be away.
constexpr seconds kPatience{60};

// Shows what a task does, from its event stream, on a thread of its own. Nothing where standard
// error is no terminal.
class Progress {
 public:
  Progress(const ServerAddress& address, std::string task) : client_(address) {
    if (!line_.is_shown()) return;
    line_.show(task + ": waiting");
    reader_ = std::jthread(
        [this, task = std::move(task)](const std::stop_token& stop) { read(stop, task); });
  }
  ~Progress() {
    if (!reader_.joinable()) return;
    reader_.request_stop();
    client_.stop();
    reader_.join();
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void read(const std::stop_token& stop, const std::string& task) {
    HttpCall call;
    call.path = task_path(task, "/events");
    while (!stop.stop_requested()) {
      EventParser events;
      const auto taken = client_.stream(call, [&](std::string_view piece) {
        for (const Event& event : events.take(piece)) {
          if (!event.id.empty()) call.headers["Last-Event-ID"] = event.id;
          const std::string words = describe_event(event.type, event.data);
          if (!words.empty() && event.type != "end") line_.show(task + ": " + words);
        }
        return !stop.stop_requested();
      });
      // The server ends a stream now and then, and may be away: it is only progress.
      if (taken && taken->status != 200) return;
      for (int i = 0; i < 10 && !stop.stop_requested(); ++i)
        std::this_thread::sleep_for(milliseconds(100));
    }
  }

  StatusLine line_;
  Client client_;
  std::jthread reader_;
};

}  // namespace

Told<Waited> wait_for_task(Session& session, const WaitSpec& spec) {
  say_on_interrupt(spec.task + " runs on; to wait for it: proofhouse wait " + spec.task);
  const auto start = steady_clock::now();
  auto last_answer = start;
  std::optional<Waited> latest;
  const Progress progress(session.address(), spec.task);
  while (true) {
    seconds wait = kPoll;
    if (spec.timeout.count() > 0) {
      const auto left = spec.timeout - (steady_clock::now() - start);
      if (latest && left <= left.zero()) return *latest;
      wait = std::clamp<seconds>(std::chrono::ceil<seconds>(left), seconds(1), kPoll);
    }
    HttpCall call;
    call.path = task_path(spec.task, latest ? "?wait=" + std::to_string(wait.count()) : "");
    if (latest) call.headers["If-None-Match"] = '"' + latest->task.etag + '"';
    const os::Result<HttpAnswer> answer = session.client().send(call);
    const bool is_away = !answer || answer->status >= 500;
    if (is_away && latest && steady_clock::now() - last_answer < kPatience) {
      std::this_thread::sleep_for(seconds(1));
      continue;
    }
    if (!answer) return std::unexpected(tell(answer.error()));
    if (answer->status >= 400) return std::unexpected(tell_refusal(*answer, session.is_json()));
    last_answer = steady_clock::now();
    if (answer->status == 304) continue;
    const os::Result<TaskAnswer> task = read_task(answer->body);
    if (!task) return std::unexpected(tell(task.error()));
    latest = Waited{*task, answer->body};
    if (task->end.state == "done" || (task->is_settled() && !spec.until_done)) return *latest;
  }
}

}  // namespace runner::cli
