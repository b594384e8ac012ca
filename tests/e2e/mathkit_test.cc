// The C++ sample project: builds, tests, a judge with fresh inputs, and benchmarks in pairs.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/e2e/serve_fixture.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

// A build and its pairs, three tasks on few CPUs.
constexpr std::chrono::seconds kLongest{400};

class Mathkit : public ServeFixture {
 protected:
  void SetUp() override {
    ServeFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    server().add_example("mathkit");
  }

  std::string post_patch(const std::string& name) {
    TaskBody body;
    body.project = "mathkit";
    body.title = name;
    const std::string file = source_dir() / ("tests/examples/changes/" + name + ".patch");
    body.patch = os::read_file(file).value_or(std::string());
    return server().post(body);
  }
};

TEST_F(Mathkit, LandsWhatIsRightAndFastAndNamesWhatIsWrongOrSlow) {
  const std::string faster = post_patch("a-faster-multiply");
  const std::string slower = post_patch("c-slower-erfc");
  const std::string wrong = post_patch("f-narrow-mod-pow");

  Document task = server().wait_for(faster, "awaiting_approval", kLongest);
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("/reason");
  const std::string judged = task.find("/gates", "name", "judged");
  EXPECT_EQ(task.at(judged + "/status"), "passed");
  EXPECT_EQ(task.at(judged + "/assurance"), "sealed");
  EXPECT_EQ(server().decide("rex", faster).status, 200);
  EXPECT_EQ(server().wait_for(faster, "done").at("/promotion/new"), task.at("/candidate/commit"));

  task = server().wait_for(slower, "done", kLongest);
  EXPECT_EQ(task.at("/verdict"), "rejected") << task.at("/reason");
  EXPECT_EQ(task.at("/failure_class"), "benchmark");
  EXPECT_TRUE(task.at("/reason").contains("BM_Erfc")) << task.at("/reason");

  task = server().wait_for(wrong, "done", kLongest);
  EXPECT_EQ(task.at("/verdict"), "rejected") << task.at("/reason");
  EXPECT_EQ(task.at(task.find("/gates", "name", "tests") + "/status"), "passed");
  EXPECT_EQ(task.at(task.find("/gates", "name", "judged") + "/status"), "failed");
}

}  // namespace
}  // namespace tests
