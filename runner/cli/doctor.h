// `proofhouse doctor`: what this machine lets a sandbox enforce, and how to mend what is missing.
#pragma once

#include "sandbox/gpu/options.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// Prints a line for each feature (or one JSON object). `gpus`: what the configuration says of them.
// Exit status 0, or 1 when something required is missing; GPUs are not required.
int run_doctor(bool json, const os::Result<sandbox::gpu::PoolOptions>& gpus);

}  // namespace runner::cli
