// Options of the commands about policies.
#pragma once

#include <string>

#include "runner/cli/server_address.h"

namespace runner::cli {

struct PolicyCheckCommand {
  std::string file = "proofhouse.yaml";
  bool json = false;
};

struct PolicyShowCommand {
  ServerFlags server;
  std::string project;
};

// What another policy would have decided on a project's last tasks.
struct PolicyBacktestCommand {
  ServerFlags server;
  std::string file = "proofhouse.yaml";
  std::string project;
  int last = 50;
};

}  // namespace runner::cli
