// GPUs from a task's step to its evidence, over a fake NVIDIA library.
#include <algorithm>
#include <csignal>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/e2e/serve_fixture.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

// Each step says which GPU nodes it sees.
constexpr const char* kPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 64MiB, disk: 16MiB, total: 10m}
steps:
  one: {run: "ls /dev | grep '^nvidia[0-9]'", gpu: {count: 1}, report: {tap: one.tap}}
  slow: {run: "echo here; sleep 4", gpu: {count: 1}, report: {tap: slow.tap}}
  none: {run: "! ls /dev | grep nvidia", report: {tap: none.tap}}
  two:
    run: ls /dev | grep '^nvidia[0-9]'
    gpu: {count: 2, min_memory: 40GiB}
    report: {tap: two.tap}
  fails: {run: "sleep 3; false", gpu: {count: 1}, report: {tap: fails.tap}}
  five: {run: "true", gpu: {count: 5, min_memory: 40GiB}, report: {tap: five.tap}}
gates:
  tests: {kind: tests, steps: [one]}
)";

class Gpu : public ServeFixture {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(root);
    gpus = std::make_unique<FakeGpus>(4);
    ServeFixture::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) server().add_project("trainer", kPolicy);
  }

  std::string config() const override {
    return "gpus:\n  nvml: " + gpus->library() + "\n  cdi: [" + gpus->cdi() +
           "]\n  devices: " + gpus->devices() + "\n  book: " + gpus->book() +
           "\n  scrub: " + gpus->scrub() + "\n  burn_in: " + gpus->burn_in() + "\n";
  }

  std::string start(const std::string& step) {
    TaskBody body;
    body.project = "trainer";
    body.intent = "run";
    body.steps = {step};
    // Each a task of its own.
    body.title = step + " " + std::to_string(++started);
    return server().post(body);
  }

  // Data of the task's first event of a type, as soon as it is there.
  std::string event(const std::string& task, const std::string& type) {
    std::string data;
    server().as("admin").events(
        "/v1/tasks/" + task + "/events", {},
        [&](const StreamEvent& one) {
          if (one.type == type) data = one.data;
          return data.empty() && one.type != "end";
        },
        kPatience);
    return data;
  }

  std::string log(const std::string& task, const std::string& step) {
    return server().as("ada").get("/v1/tasks/" + task + "/logs/" + step).body;
  }

  std::string state(int gpu) {
    const Document list = server().as("ada").get("/v1/gpus").document();
    return list.at("/gpus/" + std::to_string(gpu) + "/state");
  }
  bool wait_for_state(int gpu, const std::string& wanted) {
    return wait_until([&] { return state(gpu) == wanted; });
  }

  std::unique_ptr<FakeGpus> gpus;
  int started = 0;
};

TEST_F(Gpu, IsSeenByTheOneTaskThatHasIt) {
  const std::string first = start("one");
  const std::string second = start("one");
  const std::string third = start("none");
  const std::string both = start("two");
  for (const std::string& id : {first, second, third, both}) server().wait_for(id, "done");
  const std::string one = event(first, "gpu.leased");
  const std::string two = event(second, "gpu.leased");
  EXPECT_TRUE(one.contains("GPU-") && two.contains("GPU-")) << one << two;
  EXPECT_NE(log(first, "one"), log(second, "one"));
  EXPECT_EQ(std::ranges::count(log(first, "one"), '\n'), 1) << log(first, "one");
  EXPECT_EQ(log(third, "none"), "");
  EXPECT_EQ(std::ranges::count(log(both, "two"), '\n'), 2) << log(both, "two");
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_TRUE(wait_for_state(gpu, "free")) << gpu;
  EXPECT_EQ(gpus->scrubs(), 4);
  // The evidence names each with what it did.
  const std::string digest = server().task(both).at("/evidence_sha256");
  const std::string evidence =
      os::read_file(server().data() + "/evidence/" + digest.substr(0, 2) + "/" + digest)
          .value_or("");
  for (const char* const part :
       {"\"driver\":\"999.1\"", "\"busy_ms\":", "\"idle_ms\":", "\"wait_ms\":"})
    EXPECT_TRUE(evidence.contains(part)) << part << " in " << evidence;
  const std::string leased = event(both, "gpu.leased");
  for (int gpu = 0; gpu < 4; ++gpu)
    EXPECT_EQ(evidence.contains(FakeGpus::uuid(gpu)), leased.contains(FakeGpus::uuid(gpu)));
}

TEST_F(Gpu, StaysInServiceWhenATaskProvokesItsErrors) {
  const std::string id = start("fails");
  event(id, "gpu.leased");
  for (const int xid : {13, 31, 43})
    for (int gpu = 0; gpu < 4; ++gpu) gpus->raise_xid(gpu, xid);
  const Document task = server().wait_for(id, "done");
  // Its own failure, at the first attempt.
  EXPECT_EQ(task.size("/attempts"), 1U) << task.at("");
  EXPECT_FALSE(event(id, "gpu.released").contains("Xid"));
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_TRUE(wait_for_state(gpu, "free")) << gpu;
}

TEST_F(Gpu, ThatFailsIsQuarantinedAndTheTaskIsRunOnAnother) {
  gpus->fail_burn_in(true);
  const std::string id = start("slow");
  const std::string leased = event(id, "gpu.leased");
  int broken = 0;
  while (broken < 4 && !leased.contains(FakeGpus::uuid(broken))) ++broken;
  ASSERT_LT(broken, 4) << leased;
  gpus->raise_xid(broken, 79);
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.size("/attempts"), 2U) << task.at("");
  EXPECT_TRUE(wait_for_state(broken, "quarantined"));

  const std::string path = "/v1/gpus/" + FakeGpus::uuid(broken);
  EXPECT_EQ(server().as("ada").post(path + "/cordon", "{}").status, 403);
  EXPECT_EQ(server().as("admin").post("/v1/gpus/GPU-none/cordon", "{}").status, 404);
  gpus->fail_burn_in(false);
  const CommandEnd end = server().run("admin", {"gpu", "uncordon", FakeGpus::uuid(broken)});
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_TRUE(wait_for_state(broken, "free"));
  const CommandEnd cordon =
      server().run("admin", {"gpu", "cordon", FakeGpus::uuid(1), "--reason", "new fan"});
  EXPECT_EQ(cordon.code, 0) << cordon.output;
  const CommandEnd list = server().run("ada", {"gpu", "list"});
  EXPECT_EQ(list.code, 0) << list.output;
  EXPECT_TRUE(list.output.contains("cordoned") && list.output.contains("new fan")) << list.output;
}

TEST_F(Gpu, IsWaitedForWhereAllAreLeasedAndRefusedWhereThereAreTooFew) {
  // Somebody leases all of them by hand, from the same book.
  os::SpawnRequest request;
  request.program = program_path("proofhouse");
  request.arguments = {"sandbox", "run",      "--gpu",
                       "4",       "--config", server().place() + "/config.yaml",
                       "--",      "sleep",    "600"};
  request.environment = {"PATH=/usr/bin:/bin"};
  os::ChildProcess holder = os::ChildProcess::spawn(request).value();
  ASSERT_TRUE(wait_for_state(3, "leased"));
  const std::string cancelled = start("two");
  event(cancelled, "gpu.waiting");
  const Document why = server().as("ada").get("/v1/tasks/" + cancelled + "/why").document();
  EXPECT_EQ(why.at("/state"), "gpu");
  EXPECT_TRUE(why.at("/text").starts_with("step 'two' waits for 2 GPUs since ")) << why.at("/text");
  EXPECT_TRUE(why.at("/text").ends_with("of 4 GPUs here 4 are leased")) << why.at("/text");
  EXPECT_EQ(server().run("ada", {"cancel", cancelled}).code, 0);
  EXPECT_EQ(server().wait_for(cancelled, "done").at("/verdict"), "cancelled");

  TaskBody body;
  body.project = "trainer";
  body.intent = "run";
  body.steps = {"five"};
  const HttpAnswer answer = server().submit(body);
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_EQ(answer.at("/code"), "unsatisfiable");
  EXPECT_TRUE(answer.at("/detail").contains("5 GPU of 40GiB, and this machine has 4"))
      << answer.body;

  const std::string id = start("two");
  event(id, "gpu.waiting");
  ASSERT_TRUE(holder.signal(SIGTERM).has_value());
  EXPECT_EQ(holder.wait(kPatience).value().code, 130);
  EXPECT_EQ(server().wait_for(id, "done").at("/verdict"), "ran");
  EXPECT_EQ(std::ranges::count(log(id, "two"), '\n'), 2) << log(id, "two");
}

TEST_F(Gpu, OfAServerThatWasKilledIsTakenOverAndTheStepRunAgain) {
  const std::string id = start("slow");
  event(id, "gpu.leased");
  server().kill_serve();
  server().start();
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "ran");
  EXPECT_EQ(task.size("/attempts"), 2U) << task.at("");
  EXPECT_EQ(log(id, "slow"), "here\n");
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_TRUE(wait_for_state(gpu, "free")) << gpu;
  // That of the killed one, too.
  EXPECT_EQ(gpus->scrubs(), 2);
}

}  // namespace
}  // namespace tests
