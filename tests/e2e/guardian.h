// Guardian: ends what a test started if the test itself is killed.
#pragma once

#include <string>

#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"

namespace tests {

// A process that waits for our end. It then kills every process whose environment holds `mark`, and
// removes `place`. Does nothing once it is destroyed.
class Guardian {
 public:
  // `mark` has no character that a regular expression gives a meaning to.
  static os::Result<Guardian> watch(const std::string& mark, const std::string& place);

 private:
  Guardian(os::Fd pipe, os::ChildProcess child)
      : pipe_(std::move(pipe)), child_(std::move(child)) {}
  // Our end; it closes with us, however we end.
  os::Fd pipe_;
  os::ChildProcess child_;
};

}  // namespace tests
