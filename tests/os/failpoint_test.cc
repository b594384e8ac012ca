#include "sandbox/os/failpoint.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"

namespace os {
namespace {

// How a child ends that passes the failpoints "first" and "second" armed like this.
int end_of_child(const std::string& armed) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("PROOFHOUSE_FAILPOINT", armed.c_str(), 1);
    failpoint("first");
    failpoint("second");
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);
  if (WIFSTOPPED(status)) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return status;
}

TEST(Failpoint, DoesNothingUnlessItIsNamed) {
  for (const char* const armed : {"", "other", "firs", "firsts"}) {
    const int status = end_of_child(armed);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << armed;
  }
}

TEST(Failpoint, KillsTheProgramThere) {
  for (const char* const armed : {"first", "other,second", "second,first"}) {
    const int status = end_of_child(armed);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << armed;
  }
}

TEST(Failpoint, StopsTheProgramAndTellsByAFile) {
  const TempDir directory = TempDir::create().value();
  const int status = end_of_child("second:pause=" + directory / "marker");
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_EQ(::access((directory / "marker").c_str(), F_OK), 0);
}

TEST(Failpoint, ActsOnceWhenItIsToldSo) {
  const TempDir directory = TempDir::create().value();
  const std::string armed = "first:once=" + directory / "done";
  EXPECT_TRUE(WIFSIGNALED(end_of_child(armed)));
  EXPECT_TRUE(WIFEXITED(end_of_child(armed)));
}

}  // namespace
}  // namespace os
