// Lockdown: what a process gives up before it runs a command. In the order of use.
#pragma once

#include <cstdint>

#include "sandbox/limits.h"
#include "sandbox/os/result.h"
#include "sandbox/seccomp_policy.h"

namespace sandbox::jail {

// Resource limits that no cgroup covers (man 2 setrlimit): no core files, open files, file size,
// locked memory, message queues, pending signals, stack.
os::Result<void> set_resource_limits(const Limits& limits);

// Enters the user namespace as `inner` (user and group), without any capability, now or by any
// later exec: all five sets empty, securebits locked, no_new_privs. Supplementary groups are gone.
os::Result<void> drop_privileges(int user_namespace, std::uint32_t inner);

// A session keyring of its own, so that the jail's keys are not reachable (man 7 keyrings).
os::Result<void> leave_keyrings();

// Loads both filter programs; the process needs no_new_privs.
os::Result<void> load_seccomp(const SeccompPolicy& policy);

// What a supervisor may call once its command runs: wait, poll, write, statfs, exit. Anything else,
// and any other architecture, ends it. The process needs no_new_privs.
os::Result<void> load_supervisor_filter();

}  // namespace sandbox::jail
