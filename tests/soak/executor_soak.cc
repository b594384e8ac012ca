#include "tests/soak/executor_soak.h"

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "runner/executor/executor_main.h"
#include "runner/executor/local.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/bench/staged_attempts.h"

namespace soak {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kSocket = 64;
constexpr std::chrono::seconds kPatience{60};

struct Running {
  os::ChildProcess process;
  std::unique_ptr<runner::LocalExecutor> client;
};

os::Result<Running> start(const runner::ExecutorOptions& options) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return os::fail_errno("make a socket pair");
  os::Fd ours(pair[0]);
  const os::Fd theirs(pair[1]);
  os::SpawnRequest request;
  request.program = "/proc/self/exe";
  request.arguments = {"--executor", options.data, options.instance, options.programs};
  request.environment = {"PATH=/usr/sbin:/usr/bin"};
  request.descriptors = {{theirs.get(), kSocket}};
  os::ChildProcess process = TRY(os::ChildProcess::spawn(request));
  return Running{std::move(process), runner::LocalExecutor::over(std::move(ours))};
}

os::Result<void> wait_for_end(runner::Executor& executor, const tasks::AttemptId& attempt) {
  const Clock::time_point deadline = Clock::now() + kPatience;
  while (Clock::now() < deadline) {
    for (const runner::AttemptStatusReport& each : TRY(executor.list())) {
      if (each.attempt != attempt) continue;
      if (each.state == runner::AttemptState::ended) return {};
      if (each.state == runner::AttemptState::lost)
        return os::fail(os::Code::internal, "an attempt was lost: " + each.detail);
    }
    TRY(executor.wait_changes(milliseconds(50)));
  }
  return os::fail(os::Code::timeout, "an attempt does not end");
}

os::Result<void> finish(runner::Executor& executor, const bench::StagedAttempts& attempts,
                        const runner::AttemptStart& start) {
  TRY(wait_for_end(executor, start.attempt));
  TRY(attempts.result(start.attempt));
  TRY(executor.remove(start.attempt, start.fence));
  return attempts.remove(start.attempt);
}

os::Result<void> kill_one(const bench::StagedAttempts& attempts, milliseconds after) {
  const runner::AttemptStart attempt = TRY(attempts.stage(bench::policy_of("sleep 0.1")));
  {
    Running first = TRY(start(attempts.executor()));
    TRY(first.client->start(attempt));
    std::this_thread::sleep_for(after);
    TRY(first.process.signal(SIGKILL));
    TRY(first.process.wait());
  }
  const Running second = TRY(start(attempts.executor()));
  return finish(*second.client, attempts, attempt);
}

}  // namespace

os::Result<void> soak_executor(int count, std::mt19937_64& random, const std::string& prefix) {
  const bench::StagedAttempts attempts = TRY(bench::StagedAttempts::make(prefix));
  std::uniform_int_distribution<int> moment(0, 150);
  for (int i = 0; i < count; ++i)
    TRY_CONTEXT(kill_one(attempts, milliseconds(moment(random))), "killed executor");
  const Running executor = TRY(start(attempts.executor()));
  std::int64_t before = 0;
  for (int i = 0; i < count; ++i) {
    const runner::AttemptStart attempt = TRY(attempts.stage(bench::policy_of(":")));
    TRY(executor.client->start(attempt));
    TRY(finish(*executor.client, attempts, attempt));
    if (i == 0) before = resident_kib(executor.process.pid());
  }
  const std::int64_t after = resident_kib(executor.process.pid());
  std::printf(
      "executor: killed %d times, every attempt ended; memory %lld KiB after the first of "
      "%d further attempts, %lld KiB after the last\n",
      count, static_cast<long long>(before), count, static_cast<long long>(after));
  if (after > before + kFlatKib) return os::fail(os::Code::internal, "the executor grows");
  return {};
}

int run_as_executor(char** arguments) {
  runner::ExecutorOptions options;
  options.data = arguments[0];
  options.instance = arguments[1];
  options.programs = arguments[2];
  options.socket = kSocket;
  return runner::run_executor(options);
}

std::int64_t resident_kib(int pid) {
  const std::string status =
      os::read_file("/proc/" + std::to_string(pid) + "/status").value_or(std::string());
  const std::size_t at = status.find("VmRSS:");
  return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + 6);
}

}  // namespace soak
