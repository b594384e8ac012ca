// Facts about processes, for programs that start none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sandbox/os/result.h"

namespace os {

// Field 22 of /proc/<pid>/stat (start time in clock ticks since boot): with the pid it names a
// process for the life of the machine (man 5 proc). not_found when there is no such process.
Result<std::uint64_t> process_start_time(pid_t pid);

// The directory of the running program's file (from /proc/self/exe).
Result<std::string> program_directory();

}  // namespace os
