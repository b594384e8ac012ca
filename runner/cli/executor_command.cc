// executor: the privileged role by itself, for an operator who runs serve as an ordinary user.
#include <unistd.h>

#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/private_executor.h"
#include "runner/cli/privileges.h"
#include "runner/cli/role_config.h"
#include "runner/cli/terminal.h"
#include "runner/executor/executor_main.h"
#include "sandbox/os/files.h"

namespace runner::cli {
namespace {

os::Result<ExecutorOptions> options_of(const ExecutorCommand& command) {
  const Config config = TRY(role_config(command.config));
  const Account account = TRY(serve_account(config));
  ExecutorOptions options = TRY(executor_options(config, account.uid, account.gid));
  options.socket_path = command.socket.empty() ? config.executor_socket : command.socket;
  if (options.socket_path.empty())
    return os::fail(os::Code::invalid,
                    "say where to listen: --socket PATH, or `executor:` in the "
                    "configuration");
  if (!options.socket_path.starts_with('/'))
    return os::fail(os::Code::invalid, "the socket's path must be absolute");
  TRY(os::make_directories(options.socket_path.substr(0, options.socket_path.rfind('/')), 0755));
  return options;
}

}  // namespace

int run_command(const ExecutorCommand& command) {
  if (command.is_private) return run_private_executor();
  if (::geteuid() != 0) {
    say("the executor needs root: it makes cgroups, user ids and mounts");
    return kExitError;
  }
  const os::Result<ExecutorOptions> options = options_of(command);
  if (!options) {
    say(options.error().message);
    return kExitUsage;
  }
  say("executor listens at " + options->socket_path);
  return run_executor(*options);
}

}  // namespace runner::cli
