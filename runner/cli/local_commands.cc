// Commands that need neither a server nor a repository.
#include "runner/cli/commands.h"
#include "runner/cli/doctor.h"
#include "runner/cli/policy_check.h"
#include "runner/cli/sandbox_run.h"

namespace runner::cli {

int run_command(const PolicyCheckCommand& command) {
  return run_policy_check(command.file,
                          command.json ? PolicyCheckForm::json : PolicyCheckForm::text);
}

int run_command(const SandboxRunCommand& command) { return run_sandbox(command.arguments); }

int run_command(const DoctorCommand& command) { return run_doctor(command.json); }

}  // namespace runner::cli
