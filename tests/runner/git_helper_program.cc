// `proofhouse git-helper` as a program of its own, so that its tests need nothing else of the CLI.
// "hang" in place of an answer plays a library call that never returns.
#include <unistd.h>

#include <string_view>

#include "runner/git/git_helper.h"

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "hang") ::pause();
  if (mode == "die") return 9;
  return runner::run_git_helper();
}
