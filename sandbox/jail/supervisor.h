// Supervisor: process 1 of a command's pid namespace, and the command's process up to its exec.
//
// Both borrow the jail's memory (CLONE_VM): nothing is copied, and nothing has to be torn down.
// Until the command executes, the jail waits and does nothing else (jail/launch.h); from then on
// process 1 only makes raw calls on its own stack, with no right left, under a filter of a dozen
// system calls.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/jail/lockdown.h"
#include "sandbox/mount_plan.h"
#include "sandbox/request.h"

namespace sandbox::jail {

// A detached mount that a command sees at a path below /needs, /in, /driver.
struct ExtraMount {
  int mount = -1;  // borrowed
  std::string target;
  bool is_directory = true;
};

// What a sandbox is made from before its command is known. Borrows the descriptors.
struct Place {
  std::string root;       // the prepared root of the domain on the stage
  std::vector<int> join;  // descriptors that take "0" to join the command's cgroup
  int network = -1;       // a network namespace with loopback up; -1: makes its own
  int user_namespace = -1;
  std::uint32_t root_id = 0;  // host ids of user 0 and of the command's user
  std::uint32_t user_id = 0;
};

// What makes it the sandbox of one command. Borrows everything.
struct Order {
  const RunRequest* request = nullptr;
  const SeccompPolicy* seccomp = nullptr;
  int workspace = -1;  // detached mount that becomes /workspace; -1: none
  int out = -1;        // detached mount that becomes /out; -1: none
  int devices = -1;    // detached mount that becomes /dev; -1: that of the root
  std::vector<ExtraMount> mounts;
  std::vector<char*> arguments;  // of execve(2), ended by null
  std::vector<char*> environment;
  int input = -1;   // what the command reads; -1: nothing
  int answer = -1;  // where its standard output goes instead of `output`; -1: there
  int output = -1;  // write ends
  int error_output = -1;
};

// All that the two processes read. Theirs until `started` or `failed` was told.
struct CommandSetup {
  Place place;
  Order order;
  int jail = -1;          // pidfd of the jail
  int report = -1;        // write end
  int go = -1;            // eventfd that tells that `order` is complete; -1: it is
  char* stack = nullptr;  // upper end of the command process's stack
};

// What the two tell the jail, one write each (all shorter than PIPE_BUF).
struct Report {
  enum class Kind : std::uint32_t { failed, ready, started, ended };
  Kind kind = Kind::failed;
  std::int32_t status = 0;        // ended: as of waitpid(2)
  std::int32_t error_number = 0;  // failed
  std::uint32_t disk_full = 0;    // ended: /tmp or HOME had no byte left
  std::uint32_t shm_full = 0;     // ended: /dev/shm had no byte left
  std::uint32_t inodes_full = 0;  // ended: one of the three had no inode left
  std::int64_t time_ns = 0;       // CLOCK_MONOTONIC
  std::array<char, 160> step{};   // failed: which step
};

// The supervisor, entered by clone(2) with a CommandSetup: enters the root, starts the command's
// process, which tells `ready` and waits for its order if there is one to come; tells `started`
// when the command executes and `ended` when its first process has ended (others may live on), then
// reaps until it is killed. It holds neither the command's output nor any right, is not dumpable,
// has a user id of its own, and dies with the jail. Does not return.
int supervise(void* setup);

// The step that an error names, without the text of its error number, which goes with it apart.
std::string step_of(const os::Error& error);

// Raises the loopback device of the network namespace that the caller is in (man 7 netdevice).
os::Result<void> raise_loopback();

// mounts.cc, both within the new mount namespace. The root, /proc and /dev of the sandbox:
os::Result<void> enter_root(const Place& place);
// then what this command alone sees; reads all mounts back.
os::Result<void> furnish_root(const Place& place, const Order& order);

}  // namespace sandbox::jail
