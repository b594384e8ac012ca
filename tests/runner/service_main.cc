// What the tests of the service need before they start.
#include <gtest/gtest.h>

#include "tasks/git.h"

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  // The fake executor takes changes in with the library in this process.
  const auto session = tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) return 2;
  return RUN_ALL_TESTS();
}
