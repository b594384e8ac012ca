// Waiting for a task, with progress on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "runner/cli/answers.h"
#include "runner/cli/session.h"

namespace runner::cli {

struct WaitSpec {
  std::string task;
  std::chrono::milliseconds timeout{0};  // 0: none
  bool until_done = false;               // else until it is settled
};

// A task and the JSON that it came as.
struct Waited {
  TaskAnswer task;
  std::string json;
};

// Waits until the task is settled (or done), or the time is over: then it is still running, which
// is no failure. Survives a restart of the server of up to a minute. Ctrl-C ends the command with
// 130 and the words how to go on; the task runs on.
Told<Waited> wait_for_task(Session& session, const WaitSpec& spec);

}  // namespace runner::cli
