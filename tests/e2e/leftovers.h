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

// What the processes of one server are known by.
struct Marks {
  std::string place;   // name of its directory, which stands in its environment, mounts or files
  std::string cgroup;  // name of the group of its sandboxes
};

// Programs of ours that carry the mark of the place, and every process in the group. Zombies carry
// nothing and do not count.
std::vector<MarkedProcess> processes_with(const Marks& marks);

// Lines of this mount namespace's table that hold the mark.
std::vector<std::string> mounts_with(const std::string& mark);

// Groups of any hierarchy whose first component begins with the prefix.
std::vector<std::string> cgroups_with(const std::string& prefix);

}  // namespace tests
