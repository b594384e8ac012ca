// Keeps a process from files that its user could open: Landlock
// (Documentation/userspace-api/landlock.rst), as a deny list.
#pragma once

#include <string>
#include <vector>

#include "sandbox/os/result.h"

namespace os {

// From now on the calling thread, and all that it starts, can open no file at or below one of
// `hidden` (absolute paths, which need not exist) for reading or writing, nor make, link, rename or
// remove anything in a directory on the way to one. Landlock knows allowing only, so each entry
// beside that way is allowed as it is there now, with all below it; where a directory on the way
// cannot be listed, only `needed` (absolute; none of them may hold a hidden path) are. Needs
// no_new_privs. Answers false, and does nothing, where the kernel has no Landlock of use (ABI 2).
Result<bool> hide_paths(const std::vector<std::string>& hidden,
                        const std::vector<std::string>& needed);

}  // namespace os
