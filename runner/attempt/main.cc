// attempt: executes one attempt of a task, and wires the task layer with the gates.
//
// Rights: an unprivileged uid of its own; its directory (kAttemptDirFd) and its jail's socket
// (kSocketFd); no network, database or keys. Reads plan.json, policy.json, in/ and what its jail
// collected; bytes that a change wrote are parsed by `reader` and `ingest` in jails, never here.
// Answers by result.json (see tasks/evidence.h), events.jsonl and evidence/ below its directory.
// SIGTERM cancels. Exit: 0 the result is there; 75 another execution owns the directory; 1 no
// result could be written (the reason is on standard error, which is attempt.log).
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>

#include "gates/gate.h"
#include "runner/version.h"
#include "sandbox/request.h"
#include "tasks/attempt.h"

namespace {

constexpr int kTakenByAnother = 75;

tasks::Instruction plan_next(const tasks::Policy& policy, const tasks::Evidence& evidence) {
  const gates::Next next = gates::next(policy, evidence);
  if (const auto* run = std::get_if<gates::NextRun>(&next)) return tasks::RunOnce{run->key};
  if (const auto* pair = std::get_if<gates::NextPair>(&next))
    return tasks::RunPair{pair->step,    pair->other, pair->pair,
                          pair->variant, pair->only,  pair->clock};
  if (const auto* comparison = std::get_if<gates::NextCompare>(&next))
    return tasks::RunComparison{comparison->key};
  return tasks::RunNothing{};
}

os::Fd cancel_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return os::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// A descriptor that may not have been given.
int given(int number) { return ::fcntl(number, F_SETFD, FD_CLOEXEC) == 0 ? number : -1; }

}  // namespace

int main() {
  const os::Fd cancel = cancel_signal();
  sandbox::JailClient jail{os::Fd(sandbox::kSocketFd)};
  const tasks::AttemptContext context{.attempt_directory = sandbox::kAttemptDirFd,
                                      .cancel_fd = cancel.get(),
                                      .executor_fd = given(sandbox::kExecutorFd),
                                      .version = runner::kVersion,
                                      .planner = plan_next};
  const os::Result<tasks::AttemptEnd> end = tasks::run_attempt(context, jail);
  if (!end) {
    std::fprintf(stderr, "attempt: %s\n", end.error().message.c_str());
    return 1;
  }
  return *end == tasks::AttemptEnd::claimed ? kTakenByAnother : 0;
}
