#pragma once

#include <set>
#include <string>

#include "sandbox/request.h"

namespace tests {

/// Everything on the machine that a sandbox of ours could leave behind or change, one line each:
/// processes, network namespaces and System V objects of its ids, mounts and files below its
/// directory, control groups, and the machine's sysctls (those that change by themselves aside).
using Inventory = std::set<std::string>;

struct InventoryScope {
  sandbox::IdRange ids;
  std::string directory;      ///< Without what runs write and the script that starts the jail.
  std::string cgroup_prefix;  ///< First component of the groups' path.
};

Inventory take_inventory(const InventoryScope& scope);

/// Numbers of the processes whose user is one of these ids.
std::set<std::string> processes_of(const sandbox::IdRange& ids);

/// What is in one of them only, with + and -.
std::string difference(const Inventory& before, const Inventory& after);

}  // namespace tests
