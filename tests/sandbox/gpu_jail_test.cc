// What a command in a jail sees of GPUs: exactly those that were granted to its run.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/wire.h"
#include "tests/sandbox/jail_fixture.h"
#include "tests/support/fake_gpus.h"

namespace tests {
namespace {

using sandbox::GpuGrant;
using sandbox::RunRequest;
using sandbox::RunResult;

// Opens every GPU node that there may be, and prints how that went.
constexpr const char* kLook = R"(ls /dev | tr '\n' ' '; echo
for n in 0 1 2 3; do
  test -e /dev/nvidia$n || { echo "$n absent"; continue; }
  (exec 3<>/dev/nvidia$n) 2>&1 | grep -o 'No such device or address\|Operation not permitted' |
    sed "s/^/$n /"
done)";

class GpuJail : public JailTest {
 protected:
  void SetUp() override {
    JailTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    gpus.emplace(4);
    grants = *directory / "grants";
    std::filesystem::create_directory(grants);
    bounds.driver_files = {{gpus->path() + "/libcuda.so.1.0", "libcuda.so.1"}};
  }

  void grant(const std::string& run, const std::vector<unsigned>& minors) {
    GpuGrant grant{run, {}, {{"nvidiactl", FakeGpus::kMajor, 255}}};
    for (const unsigned minor : minors)
      grant.nodes.push_back({"nvidia" + std::to_string(minor), FakeGpus::kMajor, minor});
    write_file(grants + "/" + run, sandbox::encode(grant));
  }

  std::string look(const std::string& run, bool asks) {
    RunRequest wish = request(run, kLook);
    wish.gpus = asks;
    const RunResult result = JailTest::run(wish);
    EXPECT_TRUE(result.outcome.is_success()) << describe(result.outcome) << head(run);
    return head(run);
  }

  std::optional<FakeGpus> gpus;
};

TEST_F(GpuJail, ShowsARunTheNodesThatItWasGrantedAndNoOther) {
  grant("r1", {2});
  grant("r2", {0, 3});
  const std::string one = look("r1", true);
  // Without a driver an allowed node answers that nothing is behind it, a denied one that it may
  // not be opened.
  EXPECT_TRUE(one.ends_with("0 absent\n1 absent\n2 No such device or address\n3 absent\n")) << one;
  const std::string two = look("r2", true);
  EXPECT_TRUE(two.ends_with(
      "0 No such device or address\n1 absent\n2 absent\n3 No such device or address\n"))
      << two;
}

TEST_F(GpuJail, ShowsARunThatAskedForNoneNone) {
  grant("r1", {2});
  look("r1", true);
  const std::string seen = look("r2", false);
  EXPECT_FALSE(seen.contains("nvidia")) << seen;
  EXPECT_TRUE(seen.ends_with("0 absent\n1 absent\n2 absent\n3 absent\n")) << seen;
}

TEST_F(GpuJail, LetsNobodyMakeAnotherNode) {
  grant("r1", {1});
  RunRequest wish = request("r1",
                            "mknod /tmp/gpu c 195 2 2>&1 || true\n"
                            "ln -s /dev/nvidia1 /dev/x 2>&1 || true\n"
                            "rm /dev/nvidia1 2>&1 || true\nls /dev /tmp\n");
  wish.gpus = true;
  run(wish);
  const std::string printed = head("r1");
  EXPECT_TRUE(printed.contains("mknod: /tmp/gpu: Operation not permitted")) << printed;
  EXPECT_TRUE(printed.contains("'/dev/x'") && printed.contains("'/dev/nvidia1'")) << printed;
  EXPECT_FALSE(printed.contains("\nx\n") || printed.contains("\ngpu\n")) << printed;
  EXPECT_TRUE(printed.contains("\nnvidia1\n")) << printed;
}

TEST_F(GpuJail, ShowsTheDriversLibrariesReadOnly) {
  grant("r1", {1});
  RunRequest wish = request("r1", "cat /driver/libcuda.so.1; echo x 2>&1 >/driver/libcuda.so.1");
  wish.gpus = true;
  const RunResult result = run(wish);
  EXPECT_TRUE(head("r1").starts_with("a library\n")) << head("r1");
  EXPECT_TRUE(head("r1").contains("Read-only file system")) << head("r1");
  EXPECT_FALSE(result.outcome.is_success());
  EXPECT_EQ(print("r2", "ls /driver"), "");
}

TEST_F(GpuJail, RunsNothingWithoutItsGrant) {
  RunRequest wish = request("r1", "true");
  wish.gpus = true;
  EXPECT_EQ(run(wish).outcome.kind, sandbox::OutcomeKind::setup_failed);
  write_file(grants + "/r2", sandbox::encode(GpuGrant{"r1", {}, {}}));
  wish.id = "r2";
  EXPECT_EQ(run(wish).outcome.kind, sandbox::OutcomeKind::setup_failed);
  write_file(grants + "/r3", sandbox::encode(GpuGrant{"r3", {}, {{"mem", 1, 1}}}));
  wish.id = "r3";
  EXPECT_EQ(run(wish).outcome.kind, sandbox::OutcomeKind::setup_failed);
}

}  // namespace
}  // namespace tests
