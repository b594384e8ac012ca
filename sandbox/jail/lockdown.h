// Lockdown: what a process gives up before it runs a command. In the order of use.
#pragma once

#include <cstdint>

#include "sandbox/limits.h"
#include "sandbox/os/result.h"
#include "sandbox/seccomp_policy.h"

namespace sandbox::jail {

// One byte for core files, or none where there is none left. Not none: then the kernel would still
// start the host's handler of core files (man 5 core, "Piping core dumps to a program"), as root
// and outside of the sandbox.
os::Result<void> limit_core_files();

// Resource limits that no cgroup covers (man 2 setrlimit): core files, open files, file size,
// locked memory, message queues, pending signals, stack.
os::Result<void> set_resource_limits(const Limits& limits);

// Enters the user namespace as `inner` (user and group) and sees to it that no exec gains anything:
// empty bounding set, securebits locked, no_new_privs. Supplementary groups are gone.
os::Result<void> drop_privileges(int user_namespace, std::uint32_t inner);

// Empties the other capability sets. After the filter is loaded, which the last of them may do.
os::Result<void> drop_capabilities();

// A session keyring of its own, so that the jail's keys are not reachable (man 7 keyrings).
os::Result<void> leave_keyrings();

// Loads both filter programs; the process needs no_new_privs.
os::Result<void> load_seccomp(const SeccompPolicy& policy);

// What a supervisor may call once its command runs: wait, poll, write, statfs, exit. Anything else,
// and any other architecture, ends it. The process needs no_new_privs.
os::Result<void> load_supervisor_filter();

}  // namespace sandbox::jail
