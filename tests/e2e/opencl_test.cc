// The OpenCL sample on PoCL: an accelerator's API through the whole way, on a machine without a
// GPU.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

// Compiling a kernel for the CPU takes seconds of one that is busy with other tests.
constexpr std::chrono::seconds kLongest{200};

class OpenCl : public ServeFixture {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(opencl);
    ServeFixture::SetUp();
  }
  std::string config() const override {
    return "sandbox: {read_only_paths: [/etc/OpenCL, /sys/devices/system]}\n";
  }
};

TEST_F(OpenCl, SampleIsPromoted) {
  const std::string checkout = server().add_example("opencl_saxpy");
  run_program({"sed", "-i", "s/y\\[i\\] = a \\* x\\[i\\] + y\\[i\\]/y[i] = fma(a, x[i], y[i])/",
               "src/saxpy.cc"},
              checkout);
  TaskBody body;
  body.project = "opencl_saxpy";
  body.title = "Round once";
  body.patch = run_program({"git", "diff", "--full-index"}, checkout);
  ASSERT_TRUE(body.patch.contains("fma(")) << body.patch;
  const std::string id = server().post(body);
  const Document task = server().wait_for(id, "awaiting_approval", kLongest);
  ASSERT_EQ(task.at("/verdict"), "accepted") << task.at("/reason");
  EXPECT_EQ(server().decide("rex", id).status, 200);
  EXPECT_EQ(server().wait_for(id, "done").at("/promotion/new"), task.at("/candidate/commit"));
}

}  // namespace
}  // namespace tests
