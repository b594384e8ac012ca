// Two commands of different trust domains at the same time, joined by two pipes.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/sandbox/jail_fixture.h"
#include "tests/support/capability.h"

namespace tests {
namespace {

using sandbox::Domain;
using sandbox::Outcome;
using sandbox::RunRequest;
using sandbox::RunResult;
using sandbox::WorkspaceMode;

class Beside : public JailTest {
 protected:
  void SetUp() override {
    JailTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sandbox::WorkspaceRequest workspace;
    workspace.name = "asks";
    workspace.domain = Domain::judge;
    open_workspace(workspace);
    workspace.name = "answers";
    workspace.domain = Domain::change;
    open_workspace(workspace);
  }

  // Runs both; the result is that of the asking one, with the other's inside.
  RunResult talk(const std::string& asks, const std::string& answers) {
    RunRequest first = request("first", asks);
    first.domain = Domain::judge;
    first.workspace = "asks";
    first.mode = WorkspaceMode::scratch;
    first.limits.memory = os::Bytes{64U << 20U};
    RunRequest second = request("second", answers);
    second.workspace = "answers";
    second.mode = WorkspaceMode::scratch;
    second.limits.memory = os::Bytes{64U << 20U};
    second.limits.wall = std::chrono::seconds(20);
    first.beside = {second};
    return run(first);
  }
};

TEST_F(Beside, EachReadsWhatTheOtherPrints) {
  const RunResult result = talk(
      "for n in 1 2 3; do echo question $n; read answer; echo got $answer >&2; done; id -u >&2",
      "while read line; do echo answer to $line; done; echo over >&2");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  ASSERT_EQ(result.beside.size(), 1U);
  EXPECT_EQ(result.beside.front().outcome, Outcome::exited(0));
  EXPECT_EQ(head("first"),
            "got answer to question 1\ngot answer to question 2\ngot answer to question 3\n1000\n");
  EXPECT_EQ(head("second"), "over\n");
}

TEST_F(Beside, TheyShareNothingButThePipes) {
  const RunResult result = talk(
      "echo secret > /tmp/seed; echo secret > /workspace/seed; export SEED=secret; echo go; "
      "read found; echo \"$found\" >&2",
      "read go; found=$(cat /tmp/seed /workspace/seed /proc/[0-9]*/environ 2> /dev/null | "
      "grep -c secret || true); echo found $found; kill -9 -1 2> /dev/null || true");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(head("first"), "found 0\n");
}

TEST_F(Beside, TheOneSeesThatTheOtherHasEnded) {
  const RunResult result = talk("echo question; read answer || echo no answer >&2", "exit 3");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(head("first"), "no answer\n");
  EXPECT_EQ(result.beside.front().outcome, Outcome::exited(3));
}

TEST_F(Beside, WhoStaysBehindIsEnded) {
  const RunResult result = talk("exit 0", "exec sleep 100");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(result.beside.front().outcome, Outcome::timed_out("wall"));
}

TEST_F(Beside, KeepsEachToItsOwnLimits) {
  const RunResult result = talk("echo go; cat > /dev/null", "read go; exec tail /dev/zero");
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(result.beside.front().outcome, Outcome::killed("memory"));
}

TEST_F(Beside, RefusesTwoThatDoNotFitTheLease) {
  RunRequest first = request("first", "true");
  first.domain = Domain::judge;
  first.workspace = "asks";
  first.mode = WorkspaceMode::scratch;
  first.limits.memory = bounds.memory;
  RunRequest second = request("second", "true");
  second.workspace = "answers";
  second.mode = WorkspaceMode::scratch;
  first.beside = {second};
  const os::Result<RunResult> refused = client->run(first);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().message.contains("more memory together")) << refused.error().message;
  EXPECT_TRUE(run("after", "true").outcome.is_success());
}

}  // namespace
}  // namespace tests
