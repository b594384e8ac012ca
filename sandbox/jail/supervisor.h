// Supervisor: process 1 of a command's pid namespace, from its first instruction on.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/jail/lockdown.h"
#include "sandbox/mount_plan.h"
#include "sandbox/request.h"

namespace sandbox::jail {

// A detached mount that a command sees at a path below /needs, /in.
struct ExtraMount {
  int mount = -1;  // borrowed
  std::string target;
  bool is_directory = true;
};

// All that a command is started from; prepared by the jail, used in its child. Borrows everything.
struct CommandSetup {
  const RunRequest* request = nullptr;
  const SeccompPolicy* seccomp = nullptr;
  std::string root;       // the prepared root of the domain on the stage
  std::string workspace;  // what becomes /workspace, on the stage; empty: none
  std::string out;        // what becomes /out, on the stage; empty: none
  std::vector<ExtraMount> mounts;
  std::vector<int> join;  // descriptors that take "0" to join the command's cgroup
  int user_namespace = -1;
  std::uint32_t root_id = 0;  // host ids of user 0 and of the command's user
  std::uint32_t user_id = 0;
  int output = -1;  // write ends
  int error_output = -1;
  int report = -1;
};

// What the supervisor tells the jail, one write each (all shorter than PIPE_BUF).
struct Report {
  enum class Kind : std::uint32_t { failed, started, ended };
  Kind kind = Kind::failed;
  std::int32_t status = 0;        // ended: as of waitpid(2)
  std::int32_t error_number = 0;  // failed
  std::uint32_t disk_full = 0;    // ended: /tmp, /dev/shm or HOME had no byte left
  std::uint32_t inodes_full = 0;  // ended: … no inode left
  std::int64_t time_ns = 0;       // CLOCK_MONOTONIC
  std::array<char, 160> step{};   // failed: which step
};

// The supervisor: mounts, starts the command, tells `started`, tells `ended` when the command's
// first process has ended (others may live on), then reaps until it is killed. It holds neither the
// command's output nor any right, is not dumpable, has a user id of its own, and dies with the
// jail.
[[noreturn]] void supervise(const CommandSetup& setup);

// The step that an error names, without the text of its error number, which goes with it apart.
std::string step_of(const os::Error& error);

// The file system of the command, from within its new mount namespace (mounts.cc).
os::Result<void> enter_root(const CommandSetup& setup);

}  // namespace sandbox::jail
