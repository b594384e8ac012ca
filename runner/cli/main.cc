// proofhouse: the one program of operators, agents' scripts, reviewers and CI. Its roles `serve`,
// `executor` and `git-helper` and all other commands are described in commands.h; rights are those
// of who starts it (serve gives root up, the executor keeps it). Exit codes: exit_code.h.
#include <signal.h>

#include <exception>
#include <string>
#include <variant>
#include <vector>

#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/options.h"
#include "runner/cli/terminal.h"

namespace {

using namespace runner::cli;

int run_parsed(const Parsed& parsed) {
  if (const auto* help = std::get_if<Help>(&parsed)) {
    print(help->text);
    return kExitOk;
  }
  if (const auto* error = std::get_if<UsageError>(&parsed)) {
    say(error->message);
    return kExitUsage;
  }
  return std::visit([](const auto& command) { return run_command(command); },
                    std::get<Command>(parsed));
}

}  // namespace

int main(int argc, char** argv) {
  // A closed socket or pipe is an error where it is met, not the end.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return run_parsed(parse_command_line({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return kExitError;
  }
}
