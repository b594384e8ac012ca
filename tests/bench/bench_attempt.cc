#include <poll.h>

#include <algorithm>
#include <cstdio>

#include "runner/executor/launch.h"
#include "tests/bench/parts.h"
#include "tests/bench/staged_attempts.h"

namespace bench {
namespace {

os::Result<void> wait_for(const runner::WatchedProcess& process) {
  constexpr int kPatience = 60'000;
  pollfd ended{process.pidfd(), POLLIN, 0};
  if (::poll(&ended, 1, kPatience) != 1) return os::fail(os::Code::timeout, "an attempt hangs");
  process.reap();
  return {};
}

// Starts an attempt as an executor does, takes its result and waits until attempt and jail are
// gone. Adds the times until the result was read and until the end.
os::Result<void> run(const StagedAttempts& attempts, const tasks::Policy& policy, Series& result,
                     Series& end) {
  const runner::AttemptStart start = TRY(attempts.stage(policy));
  runner::Living living;
  TRY(measure(end, [&]() -> os::Result<void> {
    TRY(measure(result, [&]() -> os::Result<void> {
      living = TRY(runner::launch(attempts.executor(), start));
      TRY(wait_for(living.process));
      TRY(attempts.result(start.attempt));
      return {};
    }));
    return wait_for(living.jail);
  }));
  return attempts.remove(start.attempt);
}

}  // namespace

os::Result<std::vector<Series>> measure_attempts(const Options& options) {
  const StagedAttempts attempts = TRY(StagedAttempts::make(options.prefix));
  const tasks::Policy empty = policy_of("");
  const tasks::Policy one_step = policy_of(":");
  std::vector<Series> all(4);
  all[0].name = "empty_attempt";
  all[1].name = "empty_attempt_to_end";
  all[2].name = "one_step_attempt";
  all[3].name = "one_step_attempt_to_end";
  const int rounds = std::max(10, options.rounds / 2);
  for (int round = 0; round < rounds; ++round) {
    TRY(run(attempts, empty, all[0], all[1]));
    TRY(run(attempts, one_step, all[2], all[3]));
  }
  std::printf(
      "An attempt of the intent run, %d times: its two processes started, its result read; then "
      "both gone\n%-26s %9s %9s %9s\n",
      rounds, "", "p50 ms", "p99 ms", "min ms");
  for (const Series& series : all)
    std::printf("%-26s %9.3f %9.3f %9.3f\n", series.name.c_str(), series.at(0.5) / 1000,
                series.at(0.99) / 1000, series.at(0) / 1000);
  std::printf("\n");
  return all;
}

}  // namespace bench
