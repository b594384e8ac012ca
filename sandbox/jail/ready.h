// Ready: the part of a sandbox that does not depend on its command, made before one is asked for.
#pragma once

#include <memory>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/jail/launch.h"

namespace sandbox::jail {

// For one command of one domain; used once and never again. `launch` exists only where its
// processes are started already.
struct Ready {
  Cgroup group;
  std::vector<os::Fd> join;
  os::Fd network;
  std::unique_ptr<Launch> launch;
};

// Stacks that no sandbox runs on.
class SpareStacks {
 public:
  os::Result<std::unique_ptr<Stacks>> take();
  void give(std::unique_ptr<Stacks> stacks) { spare_.push_back(std::move(stacks)); }

 private:
  std::vector<std::unique_ptr<Stacks>> spare_;
};

}  // namespace sandbox::jail
