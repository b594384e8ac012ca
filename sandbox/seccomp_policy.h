// Seccomp policy: which system calls a command may make, as filter programs for seccomp(2).
//
// Two programs are loaded one after the other; the stricter answer counts. The first is the list of
// what is allowed: of the native architecture only (any other ends the process), what the list does
// not know answers ENOSYS, what it knows and refuses EPERM. The second looks at arguments and
// answers EPERM: new namespaces through clone(2), socket families other than unix, inet, inet6 and
// netlink's route, the ioctls TIOCSTI and TIOCLINUX (compared in 32 bits, as the kernel does),
// set-id modes, device nodes, personalities.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "sandbox/os/result.h"
#include "sandbox/request.h"

namespace sandbox {

// The programs, in the order in which they are loaded.
struct SeccompPolicy {
  std::vector<sock_filter> allowed;
  std::vector<sock_filter> arguments;
};

// Builds both with libseccomp. `strict` has no sockets, no new processes (threads only), no ptrace
// and no System V or POSIX queues.
os::Result<SeccompPolicy> build_seccomp_policy(Profile profile);

// One program instead of two, since each costs a third of a millisecond to load: where the first
// allows, the second decides. What the kernel makes of the two is the same: of an errno of each it
// takes that of the list, which is loaded last.
SeccompPolicy join_programs(SeccompPolicy policy);

}  // namespace sandbox
