// PrivateExecutor: an executor started for us alone, on a socketpair; needs root. It ends when we
// close our end, and the attempts that it started live on.
#pragma once

#include <string>
#include <string_view>

#include "runner/config.h"
#include "runner/executor/launch.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// Descriptors at which it finds its client and its options (JSON in a sealed memory file).
inline constexpr int kClientFd = 64;
inline constexpr int kOptionsFd = 65;

// What the configuration says for an executor whose data directory belongs to `uid` and `gid`.
os::Result<ExecutorOptions> executor_options(const Config& config, uid_t uid, gid_t gid);

// Starts it as a child in a session of its own, with none of our descriptors. The answer is our end
// of the socketpair, for LocalExecutor::over once our rights are dropped (that starts a thread).
os::Result<os::Fd> start_private_executor(const ExecutorOptions& options);

// Runs as one: options and client as above. The exit code.
int run_private_executor();

// The options as they travel.
std::string encode_executor_options(const ExecutorOptions& options);
os::Result<ExecutorOptions> decode_executor_options(std::string_view json);

}  // namespace runner::cli
