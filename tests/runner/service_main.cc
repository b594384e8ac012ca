// The test program of the service is its own git helper, so that it needs no other program.
#include <string_view>

#include <gtest/gtest.h>

#include "runner/git/git_helper.h"
#include "tasks/git.h"

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "git-helper") return runner::run_git_helper();
  testing::InitGoogleTest(&count, arguments);
  // The fake executor takes changes in with the library in this process.
  const auto session = tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) return 2;
  return RUN_ALL_TESTS();
}
