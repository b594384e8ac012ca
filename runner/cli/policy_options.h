// Options of the commands about policies.
#pragma once

#include <string>
#include <vector>

#include "runner/cli/server_address.h"

namespace runner::cli {

struct PolicyCheckCommand {
  std::string file = "proofhouse.yaml";
  bool json = false;
};

// Tries saboteurs on the head of a repository.
struct PolicyProveCommand {
  std::string repository;         // empty: the one around the working directory
  std::string policy_file;        // held policy, empty: the head's own
  std::vector<std::string> only;  // saboteurs by name, besides the broken function; empty: all
  std::vector<std::string> allow_gaps;
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
