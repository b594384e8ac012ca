// Commands that need neither a server nor a repository.
#include <string>

#include "runner/cli/commands.h"
#include "runner/cli/doctor.h"
#include "runner/cli/policy_check.h"
#include "runner/cli/role_config.h"
#include "runner/cli/sandbox_run.h"
#include "sandbox/gpu/release.h"

namespace runner::cli {
namespace {

os::Result<sandbox::gpu::PoolOptions> gpu_options(const std::string& config) {
  const Config read = TRY(role_config(config));
  sandbox::gpu::PoolOptions options = read.gpus;
  sandbox::gpu::allow_gaps(options, read.allow_gaps);
  return options;
}

}  // namespace

int run_command(const PolicyCheckCommand& command) {
  return run_policy_check(command.file,
                          command.json ? PolicyCheckForm::json : PolicyCheckForm::text);
}

int run_command(const SandboxRunCommand& command) {
  return run_sandbox(command.arguments, gpu_options);
}

int run_command(const DoctorCommand& command) {
  return run_doctor(command.json, gpu_options(command.config));
}

}  // namespace runner::cli
