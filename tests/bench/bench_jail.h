// A jail on a directory of its own, for benchmarks and soak runs. Needs root.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "sandbox/host.h"
#include "sandbox/jail_client.h"
#include "sandbox/os/files.h"

namespace bench {

inline constexpr const char* kCommand = "/usr/bin/true";

// Not thread-safe; several may live at a time, each with an id slot of its own.
class BenchJail {
 public:
  // `prefix` begins the name of its cgroup; the directory holds attempt/ and trees/.
  static os::Result<std::unique_ptr<BenchJail>> start(sandbox::Ahead ahead,
                                                      const std::string& prefix);

  // Runs the empty command; anything but success is an error.
  os::Result<void> run_empty();
  // Until the jail waits again: all of the last run is gone, and what it makes ahead is made.
  os::Result<void> settle();
  // An empty workspace over trees/<tree>, under a new name.
  os::Result<void> open_workspace(const std::string& tree);
  // Runs anything; the id is set here.
  os::Result<sandbox::RunResult> run(sandbox::RunRequest request, int cancel_fd = -1);
  // Ends it; an error when it did not end well.
  os::Result<void> close();

  // What the empty command is asked for with.
  static sandbox::RunRequest empty_request();

  os::ChildProcess& process() { return *process_; }
  std::string trees() const { return directory_ / "trees"; }
  const std::string& cgroup() const { return cgroup_; }

 private:
  BenchJail(os::TempDir directory, sandbox::IdSlot slot)
      : directory_(std::move(directory)), slot_(std::move(slot)) {}

  os::TempDir directory_;
  sandbox::IdSlot slot_;
  std::string cgroup_;
  std::unique_ptr<os::ChildProcess> process_;
  std::unique_ptr<sandbox::JailClient> client_;
  int count_ = 0;
};

}  // namespace bench
