// CheckAttempt: plays serve's part for one attempt: stages it, starts it, waits for its result.
#pragma once

#include <string>

#include "runner/cli/check_cache.h"
#include "runner/cli/terminal.h"
#include "runner/executor/executor.h"
#include "sandbox/os/fd.h"
#include "tasks/evidence.h"
#include "tasks/plan.h"

namespace runner::cli {

// From now on Ctrl-C and SIGTERM end an attempt that runs, and then the command.
void cancel_on_interrupt();

// Ends and removes all that a check which was killed left running.
os::Result<void> sweep_attempts(const CheckCache& cache, Executor& executor);

// One attempt, and its directory for as long as this lives.
class CheckAttempt {
 public:
  // Both outlive it. Makes the directory with in/ and evidence/.
  static os::Result<CheckAttempt> create(const CheckCache& cache, Executor& executor);
  CheckAttempt(CheckAttempt&& other) noexcept;
  CheckAttempt& operator=(CheckAttempt&&) = delete;
  CheckAttempt(const CheckAttempt&) = delete;
  CheckAttempt& operator=(const CheckAttempt&) = delete;
  ~CheckAttempt();

  const std::string& id() const { return id_; }
  const std::string& directory() const { return directory_; }
  // A file below the directory, before it is started.
  os::Result<void> stage(const std::string& name, std::string_view bytes) const;
  // A file that it made; regular files only.
  os::Result<std::string> read(const std::string& path, std::size_t limit) const;
  os::Result<os::Fd> open_directory() const;

  // Starts it and waits for its end, showing progress. The evidence is that of result.json, without
  // parsed reports. cancelled: Ctrl-C; unavailable: it ended without a result.
  os::Result<tasks::Evidence> run(tasks::Plan plan, AttemptStart start, StatusLine& status);

 private:
  CheckAttempt(const CheckCache& cache, Executor& executor, std::string id);
  os::Result<void> wait_for_end(StatusLine& status);
  void show_events(StatusLine& status);

  Executor* executor_;
  std::string id_;
  std::string directory_;
  std::size_t events_read_ = 0;
};

// Fills RunRecord::reports[].parsed from the blobs below the attempt's evidence/.
os::Result<void> load_parsed_reports(int attempt_directory, tasks::Evidence& evidence);

}  // namespace runner::cli
