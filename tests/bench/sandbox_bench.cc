// What a sandbox costs: an empty command in a jail against the same command by posix_spawn,
// interleaved in one run, so that whatever else the machine does meets both alike.
//
//   sandbox_bench [ROUNDS]     (default 200)
//
// Needs root and the program `jail`. Prints the 50th and 99th percentile and the minimum of each,
// and the ratio of the medians. Exit status 1 when something could not run.
//
// A plain program and not Google Benchmark, because the two have to alternate run by run.

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/host.h"
#include "sandbox/jail_client.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tests/support/programs.h"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr const char* kCommand = "/usr/bin/true";

// Times of one way to run the command, in milliseconds.
struct Series {
  const char* name;
  std::vector<double> times;

  double at(double quantile) {
    std::ranges::sort(times);
    return times[static_cast<std::size_t>(quantile * static_cast<double>(times.size() - 1))];
  }
};

template <class Run>
os::Result<void> measure(Series& series, const Run& run) {
  const Clock::time_point begin = Clock::now();
  TRY(run());
  series.times.push_back(Milliseconds(Clock::now() - begin).count());
  return {};
}

os::Result<void> spawn_plainly() {
  std::string name = kCommand;
  char* const arguments[] = {name.data(), nullptr};
  char* const environment[] = {nullptr};
  pid_t child = -1;
  if (const int error = ::posix_spawn(&child, kCommand, nullptr, nullptr, arguments, environment))
    return os::fail_errno(error, "posix_spawn");
  int status = -1;
  if (::waitpid(child, &status, 0) != child || status != 0)
    return os::fail(os::Code::internal, "the command failed");
  return {};
}

// A jail on a directory of its own.
class Jail {
 public:
  static os::Result<Jail> start() {
    Jail jail;
    jail.slots_.reserve(4);
    sandbox::JailStart request;
    for (int domain = 0; domain < 4; ++domain) {
      jail.slots_.push_back(TRY(sandbox::IdSlot::take()));
      request.bounds.ids.push_back(jail.slots_.back().range());
    }
    request.program = tests::program_path("jail");
    request.bounds.attempt = "bench";
    request.bounds.cgroup = "proofhouse-" + os::random_hex(4) + "/bench";
    request.bounds.cpus = sandbox::available_cpus();
    request.bounds.memory = os::Bytes{1ULL << 30U};
    const os::Fd attempt = TRY(os::open_file(jail.directory_.path(), O_PATH | O_DIRECTORY));
    request.attempt_directory = attempt.get();
    auto [ours, theirs] = TRY(os::seqpacket_pair());
    jail.processes_.push_back(TRY(sandbox::start_jail(request, theirs.get())));
    jail.clients_.emplace_back(std::move(ours));
    return jail;
  }

  os::Result<void> run(int number) {
    sandbox::RunRequest request;
    request.id = "run-" + std::to_string(number);
    request.command = {kCommand};
    request.environment = {"PATH=/usr/bin"};
    request.limits.memory = os::Bytes{256U << 20U};
    request.limits.disk = os::Bytes{64U << 20U};
    const sandbox::RunResult result = TRY(clients_.front().run(request));
    if (!result.outcome.is_success())
      return os::fail(os::Code::internal, sandbox::describe(result.outcome));
    return {};
  }

  os::Result<void> close() {
    clients_.clear();
    const os::ExitStatus status = TRY(processes_.front().wait(std::chrono::seconds(30)));
    if (!status.is_success()) return os::fail(os::Code::internal, "the jail did not end well");
    return {};
  }

 private:
  os::TempDir directory_ = os::TempDir::create("proofhouse-bench").value();
  std::vector<sandbox::IdSlot> slots_;
  std::vector<os::ChildProcess> processes_;
  std::vector<sandbox::JailClient> clients_;
};

void print(Series& series) {
  std::printf("%-28s p50 %8.3f ms   p99 %8.3f ms   min %8.3f ms\n", series.name, series.at(0.5),
              series.at(0.99), series.at(0));
}

os::Result<void> bench(int rounds) {
  Series plain{"posix_spawn", {}};
  Series jailed{"one jail, a sandbox a command", {}};
  Series whole{"a jail for each command", {}};
  Jail jail = TRY(Jail::start());
  TRY(jail.run(0));
  for (int round = 1; round <= rounds; ++round) {
    TRY(measure(plain, spawn_plainly));
    TRY(measure(jailed, [&] { return jail.run(round); }));
    if (round % 10 != 0) continue;
    TRY(measure(whole, []() -> os::Result<void> {
      Jail fresh = TRY(Jail::start());
      TRY(fresh.run(0));
      return fresh.close();
    }));
  }
  TRY(jail.close());
  for (Series* series : {&plain, &jailed, &whole}) print(*series);
  std::printf("an empty command in the jail: %.2f x posix_spawn (medians of %d pairs)\n",
              jailed.at(0.5) / plain.at(0.5), rounds);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  const os::Result<void> done = bench(std::max(rounds, 10));
  if (done) return 0;
  std::fprintf(stderr, "sandbox_bench: %s\n", done.error().message.c_str());
  return 1;
}
