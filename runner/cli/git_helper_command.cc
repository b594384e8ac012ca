// git-helper: hidden; started by serve for one request each.
#include "runner/cli/commands.h"
#include "runner/git/git_helper.h"

namespace runner::cli {

int run_command(const GitHelperCommand& /*command*/) { return run_git_helper(); }

}  // namespace runner::cli
