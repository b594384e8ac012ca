// Leftovers: what of a server lives on a machine, found by a mark that all of it carries.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tests {

// A process that carries the mark.
struct MarkedProcess {
  pid_t pid = -1;
  std::string program;  // name of its executable file
  std::string command;  // its arguments, separated by spaces
  bool is_stopped = false;
};

// Every process but our own whose environment, arguments, mounts, cgroup or open files hold one of
// the marks. Zombies have none of these and do not count.
std::vector<MarkedProcess> processes_with(const std::vector<std::string>& marks);

// Lines of this mount namespace's table that hold the mark.
std::vector<std::string> mounts_with(const std::string& mark);

// Groups of any hierarchy whose first component begins with the prefix.
std::vector<std::string> cgroups_with(const std::string& prefix);

}  // namespace tests
