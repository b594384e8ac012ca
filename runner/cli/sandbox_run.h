// `proofhouse sandbox run`: one command in a sandbox of its own, by hand.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/gpu/options.h"
#include "sandbox/limits.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// What was asked for.
struct SandboxRunOptions {
  sandbox::Limits limits;  // disk: at most memory, because the writable layer is memory
  bool json = false;       // one object on standard output; exit status 0
  bool help = false;
  std::string workspace;  // host directory under /workspace, its changes dropped; empty: none
  std::string out;        // host directory that receives /workspace afterwards; empty: none
  int gpus = 0;           // leased for the command
  std::string config;     // the server's configuration, for what it says of GPUs; empty: its place
  std::vector<std::string> allow_gaps;
  std::vector<std::string> environment;  // NAME=value, over the defaults
  std::vector<std::string> command;
};

// Reads the words after `sandbox run`. Errors are for the user: invalid, naming the word.
os::Result<SandboxRunOptions> parse_sandbox_run(const std::vector<std::string>& arguments);

// The text of `sandbox run --help`.
std::string_view sandbox_run_help();

// What a configuration file (empty: that of this machine, where there is one) says of GPUs.
using GpuOptionsReader =
    std::function<os::Result<sandbox::gpu::PoolOptions>(const std::string& config)>;

// Runs the command in a jail of its own, which needs root. Without --json: its output on standard
// output as it comes, how it ended on standard error; the exit status is the command's, 128+n when
// signal n ended it, 124 timed out, 137 killed by a limit, 130 cancelled (SIGINT, SIGTERM), 125
// when it could not be set up. With --json: 0 and one object. Usage 2, without root 3.
int run_sandbox(const std::vector<std::string>& arguments, const GpuOptionsReader& gpu_options);

// The same for options that were read already.
int run_sandbox(const SandboxRunOptions& options, const GpuOptionsReader& gpu_options);

}  // namespace runner::cli
