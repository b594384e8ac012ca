// Landlock: a belt over the mounts and namespaces of a command, where the kernel has it
// (Documentation/userspace-api/landlock.rst). What the mounts allow it allows, and no more.
#pragma once

#include <string>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"

namespace sandbox::jail {

// The ABI of the running kernel; 0: it has none that is of use (the first one refuses every rename
// to another directory).
int landlock_abi();

// Rules for a command, as seen from the calling process: reading and executing anywhere, writing
// only below `writable` (existing directories), /dev and /proc; from ABI 6 on no abstract unix
// socket and no process outside can be reached. Closed where the ABI is 0.
os::Result<os::Fd> make_landlock_rules(const std::vector<std::string>& writable);

// Applies them to the calling thread and all that it starts, for good. Needs no_new_privs. Nothing
// happens where `rules` is closed.
os::Result<void> restrict_by_landlock(const os::Fd& rules);

}  // namespace sandbox::jail
