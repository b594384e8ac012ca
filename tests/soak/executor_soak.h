// Executors killed while their attempts run.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "sandbox/os/result.h"

namespace soak {

// Starts `count` attempts, each by an executor of its own that is killed -9 at a random moment; the
// next one has to find the attempt and see it end with its result. Then `count` more attempts with
// one executor, whose memory has to stay flat. Prints what it saw.
os::Result<void> soak_executor(int count, std::mt19937_64& random, const std::string& prefix);

// Runs as an executor on the socket at descriptor 64 (arguments: data, instance, programs).
int run_as_executor(char** arguments);

// VmRSS of a process in KiB (man 5 proc); 0 when it is gone.
std::int64_t resident_kib(int pid);

// What may be added to resident memory over a soak: the allocator's slack, not a leak of each run.
inline constexpr std::int64_t kFlatKib = 1024;

}  // namespace soak
