// Commands: what `main` calls. Each runs one command to its end and returns the exit code; data on
// standard output, all else on standard error.
#pragma once

#include "runner/cli/options.h"

namespace runner::cli {

// Roles.
int run_command(const ServeCommand& command);
int run_command(const ExecutorCommand& command);
int run_command(const GitHelperCommand& command);

// Of a server's tasks.
int run_command(const SubmitCommand& command);
int run_command(const WaitCommand& command);
int run_command(const ShowCommand& command);
int run_command(const LogsCommand& command);
int run_command(const CancelCommand& command);
int run_command(const ListCommand& command);
int run_command(const WhyCommand& command);
int run_command(const RejudgeCommand& command);
int run_command(const DecideCommand& command);
int run_command(const LoginCommand& command);

// Of a server's configuration.
int run_command(const PolicyShowCommand& command);
int run_command(const PolicyBacktestCommand& command);
int run_command(const ProjectAddCommand& command);
int run_command(const ProjectListCommand& command);
int run_command(const ProjectFreezeCommand& command);
int run_command(const TokenCreateCommand& command);
int run_command(const TokenRevokeCommand& command);
int run_command(const TokenListCommand& command);
int run_command(const AttestShowCommand& command);
int run_command(const AttestKeyCommand& command);
int run_command(const AuditVerifyCommand& command);
int run_command(const AuditExportCommand& command);
int run_command(const AuditHeadCommand& command);
int run_command(const StatusCommand& command);
int run_command(const GpuListCommand& command);
int run_command(const GpuCordonCommand& command);

// Without a server.
int run_command(const AttestVerifyCommand& command);
int run_command(const CheckCommand& command);
int run_command(const PolicyCheckCommand& command);
int run_command(const PolicyProveCommand& command);
int run_command(const SandboxRunCommand& command);
int run_command(const DoctorCommand& command);

}  // namespace runner::cli
