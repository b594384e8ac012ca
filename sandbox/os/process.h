// Starting and watching other programs (Boost.Process v2), by pidfd.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/process_info.h"
#include "sandbox/os/result.h"

namespace os {

// How a process ended: an exit code, or the signal that killed it.
struct ExitStatus {
  int code = 0;
  int signal = 0;
  bool is_success() const { return code == 0 && signal == 0; }
};

// What to start. Descriptors not named here never reach the child.
struct SpawnRequest {
  std::string program;                           // path; looked up in PATH only if `search_path`
  std::vector<std::string> arguments;            // without argv[0]
  std::vector<std::string> environment;          // NAME=value; exactly these
  std::string directory;                         // working directory, empty: ours
  int standard_input = -1;                       // borrowed; -1: /dev/null
  int standard_output = -1;                      // borrowed; -1: /dev/null
  int standard_error = -1;                       // borrowed; -1: ours
  std::vector<std::pair<int, int>> descriptors;  // (ours, number in the child, 64..511), borrowed
  bool new_session = false;                      // setsid: no signal of our terminal reaches it
  bool die_with_parent = false;                  // PR_SET_PDEATHSIG SIGKILL
  bool search_path = false;
  std::optional<uid_t> uid;  // setresuid/gid and no supplementary groups, before exec
  std::optional<gid_t> gid;
};

// A child, known by pidfd. On destruction a child still running is killed and reaped, unless
// detached.
class ChildProcess {
 public:
  static Result<ChildProcess> spawn(const SpawnRequest& request);

  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  // For poll(2): readable when the child has ended.
  int pidfd() const { return pidfd_.get(); }
  // Waits up to `limit` (none: for ever); timeout when it still runs. Ended once, answers the same.
  Result<ExitStatus> wait(std::optional<std::chrono::milliseconds> limit = std::nullopt);
  // Sends a signal; a child that has ended is no error.
  Result<void> signal(int number);
  // The child outlives this object and this process; nobody here reaps it any more.
  void detach();

 private:
  ChildProcess(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}
  pid_t pid_ = -1;
  Fd pidfd_;
  std::optional<ExitStatus> ended_;
};

// Runs to the end and collects standard output (at most `limit` bytes); non-zero exits are values.
struct Captured {
  ExitStatus status;
  std::string output;
};
Result<Captured> run_captured(SpawnRequest request, std::chrono::milliseconds limit,
                              std::size_t output_limit = 16U << 20U);

}  // namespace os
