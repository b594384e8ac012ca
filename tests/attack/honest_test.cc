#include <unistd.h>

#include "tests/sandbox/jail_fixture.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

// What honest programs do that looks like an attack: it has to work.
namespace tests {
namespace {

using sandbox::Outcome;
using sandbox::RunRequest;
using sandbox::RunResult;

class Honest : public JailTest {
 protected:
  void SetUp() override {
    JailTest::SetUp();
    programs = guest_path("nothing").parent_path();
    if (IsSkipped() || HasFatalFailure()) return;
    REQUIRE_BUILT(guest_path("honest_leak"));
  }
};

TEST_F(Honest, DebuggerAttachesToItsChildAndLibrariesListInterfaces) {
  EXPECT_EQ(print("debugger", "/proofhouse/honest_debugger"),
            "attach works\ninterfaces work\nmessages work\nfixed addresses work\n");
}

TEST_F(Honest, LeakSanitizerFindsALeak) {
  const RunResult result = run("leak", "/proofhouse/honest_leak");
  EXPECT_EQ(result.outcome, Outcome::exited(23)) << head("leak");
  EXPECT_TRUE(head("leak").contains("detected memory leaks")) << head("leak");
}

TEST_F(Honest, ThreadSanitizerFindsARace) {
  const RunResult result = run("race", "/proofhouse/honest_race");
  EXPECT_EQ(result.outcome, Outcome::exited(66)) << head("race");
  EXPECT_TRUE(head("race").contains("data race")) << head("race");
}

TEST_F(Honest, GdbStartsAndAttaches) {
  REQUIRE_CAPABILITY(gdb);
  EXPECT_TRUE(print("start",
                    "gdb -nx -batch -ex 'break main' -ex run -ex bt "
                    "/proofhouse/honest_leak 2>&1")
                  .contains("#0  main"))
      << head("start");
  EXPECT_TRUE(print("attach", "sleep 30 & gdb -nx -batch -p $! -ex 'info inferiors' 2>&1")
                  .contains("process"))
      << head("attach");
}

TEST_F(Honest, LocksRenamesAndOutputsWork) {
  EXPECT_EQ(print("files",
                  "mkdir a b; echo 1 > a/x; mv a/x b/y; ln b/y a/z; mv b c; cat c/y;"
                  "flock c/y echo locked; mkfifo p; (echo through > p &) ; cat p;"
                  "echo err > /dev/stderr; cp /usr/bin/env e; ./e true; : > /tmp/t; mv /tmp/t .;"
                  "python3 -c 'import multiprocessing as m; m.Queue(); m.Lock(); print(2)'"),
            "1\nlocked\nthrough\nerr\n2\n");
}

}  // namespace
}  // namespace tests
