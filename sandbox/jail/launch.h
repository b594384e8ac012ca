// Launch: the two processes of one sandbox, from their start to their end, as the jail holds them.
#pragma once

#include <sys/types.h>

#include <memory>

#include "sandbox/jail/supervisor.h"
#include "sandbox/os/fd.h"

namespace sandbox::jail {

// One pipe; the read end does not block.
struct Pipe {
  os::Fd read;
  os::Fd write;
};
os::Result<Pipe> make_pipe();

// A stack for a process that borrows our memory: kept, since its pages are dear to get. Below it
// lies a page that nobody may touch.
class Stack {
 public:
  static os::Result<Stack> make();
  Stack(Stack&& other) noexcept;
  Stack& operator=(Stack&&) = delete;
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  ~Stack();

  // The upper end: where it begins.
  char* top() const;

 private:
  explicit Stack(char* base) : base_(base) {}
  char* base_;
};

// What the two processes of a sandbox run on. Sandboxes that follow each other use the same.
struct Stacks {
  Stack supervisor;
  Stack command;
};

// Starts a sandbox and waits for it wherever its processes use the jail's memory: no other code of
// the jail runs in that time. Not movable: the processes know its address.
class Launch {
 public:
  // A sandbox that waits for its order: new pid, mount, ipc, uts and (unless the place has one)
  // network namespaces, mounts, cgroup joined.
  static os::Result<std::unique_ptr<Launch>> ahead(Place place, std::unique_ptr<Stacks> stacks);
  // One that is to execute its order at once: `execute` is still to be called.
  static std::unique_ptr<Launch> cold(Place place, std::unique_ptr<Stacks> stacks);

  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  // Kills and reaps the supervisor, and with it all that is in its pid namespace.
  ~Launch();

  // Lets the command start. Returns what became of it: `started` or `failed`.
  os::Result<Report> execute(Order order);

  // For poll(2): where `ended` will be read. Its write end is the supervisor's alone.
  int report() const { return report_.read.get(); }
  // Kills and reaps; gives the stacks for the next one. Nothing of the sandbox is left then.
  std::unique_ptr<Stacks> end();

 private:
  Launch(Place place, std::unique_ptr<Stacks> stacks);
  os::Result<void> start();
  Report next_report();
  void settle();

  CommandSetup setup_;
  std::unique_ptr<Stacks> stacks_;
  Pipe report_;
  os::Fd jail_;
  os::Fd go_;
  pid_t supervisor_ = -1;
  os::Fd pidfd_;
};

// A network namespace of its own with loopback up; it lives as long as the descriptor.
os::Result<os::Fd> make_network_namespace(Stacks& stacks);

}  // namespace sandbox::jail
