// GPUs from a task's step to its evidence, over a fake NVIDIA library.
#include <algorithm>
#include <csignal>
#include <map>
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
  slow: {run: "echo here; sleep 2", gpu: {count: 1}, report: {tap: slow.tap}}
  none: {run: "! ls /dev | grep nvidia", report: {tap: none.tap}}
  two:
    run: ls /dev | grep '^nvidia[0-9]'; sleep 3
    gpu: {count: 2, min_memory: 40GiB}
    report: {tap: two.tap}
  five: {run: "true", gpu: {count: 5, min_memory: 40GiB}, report: {tap: five.tap}}
gates:
  tests: {kind: tests, steps: [one]}
)";

// A test on a GPU that a change can break. It takes long enough on a broken one for the driver to
// report what the change did.
constexpr const char* kTrapPolicy = R"yaml(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 64MiB, disk: 16MiB, total: 10m}
steps:
  kernel:
    gpu: {count: 1}
    report: {tap: kernel.tap}
    run: |
      printf 'TAP version 13\n1..1\n' > kernel.tap
      if grep -q good src/left.txt; then echo 'ok 1 - kernel' >> kernel.tap; exit 0; fi
      sleep 2
      echo 'not ok 1 - kernel' >> kernel.tap
      false
gates:
  tests: {kind: tests, steps: [kernel]}
)yaml";

// A step on a GPU that speaks with its judge, and one that is measured from outside.
constexpr const char* kJoinedPolicy = R"yaml(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 24MiB, disk: 8MiB, total: 10m}
steps:
  talk: {run: "ls /dev | grep '^nvidia[0-9]'", interact: true, gpu: {count: 1}}
  listen:
    from: base
    needs: [talk]
    report: {tap: listen.tap}
    run: |
      read node
      if test -z "$node" || ls /dev | grep nvidia; then exit 1; fi
      printf 'TAP version 13\n1..1\nok 1 - talks of a GPU\n' > listen.tap
  work:
    gpu: {count: 1}
    calls: [1000, 200000]
    outputs: {out: out/}
    run: |
      mkdir out
      ls /dev | grep '^nvidia[0-9]' > out/nodes
      n=0; while [ $n -lt $PROOFHOUSE_CALLS ]; do n=$((n + 1)); done
  look:
    from: base
    needs: [work.out]
    report: {tap: look.tap}
    run: |
      test "$(wc -l < /needs/work.out/nodes)" = 1
      printf 'TAP version 13\n1..1\nok 1 - one GPU\n' > look.tap
gates:
  judged: {kind: tests, steps: [listen]}
  speed: {kind: benchmark, step: work, clock: outside-cpu, tolerance: 50%}
)yaml";

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

  // The same for a change of the sample, judged by `project`.
  std::string verify(const std::string& project, const std::string& left) {
    TaskBody body;
    body.project = project;
    body.intent = "verify";
    body.patch = sample().patch({{"src/left.txt", left}});
    return server().post(body);
  }

  // Data of the task's first event of a type that holds `part`, as soon as it is there.
  std::string event(const std::string& task, const std::string& type,
                    const std::string& part = {}) {
    std::string data;
    server().as("admin").events(
        "/v1/tasks/" + task + "/events", {},
        [&](const StreamEvent& one) {
          if (one.type == type && one.data.contains(part)) data = one.data;
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
  const std::string first = start("two");
  const std::string second = start("two");
  const std::string leased = event(first, "gpu.leased");
  const std::string others = event(second, "gpu.leased");
  const std::string none = start("none");
  for (const std::string& id : {first, second, none}) server().wait_for(id, "done");
  EXPECT_EQ(log(none, "none"), "");
  // Both had theirs at one time.
  const auto time = [](const std::string& data) { return Document(data).at("/at"); };
  EXPECT_LT(time(leased), time(event(second, "gpu.released")));
  EXPECT_LT(time(others), time(event(first, "gpu.released")));
  const std::string seen = log(first, "two");
  const std::string rest = log(second, "two");
  EXPECT_EQ(seen.size(), rest.size());
  for (int gpu = 0; gpu < 4; ++gpu) {
    const std::string node = "nvidia" + std::to_string(gpu) + "\n";
    EXPECT_NE(seen.contains(node), rest.contains(node)) << seen << rest;
    EXPECT_EQ(seen.contains(node), leased.contains(FakeGpus::uuid(gpu))) << leased;
    EXPECT_EQ(rest.contains(node), others.contains(FakeGpus::uuid(gpu))) << others;
    EXPECT_TRUE(wait_for_state(gpu, "free")) << gpu;
  }
  EXPECT_EQ(gpus->scrubs(), 4);
  // The evidence names each with what it did.
  const std::string digest = server().task(first).at("/evidence_sha256");
  const std::string evidence =
      os::read_file(server().data() + "/evidence/" + digest.substr(0, 2) + "/" + digest)
          .value_or("");
  for (const char* const part :
       {"\"driver\":\"999.1\"", "\"busy_ms\":", "\"idle_ms\":", "\"wait_ms\":"})
    EXPECT_TRUE(evidence.contains(part)) << part << " in " << evidence;
  for (int gpu = 0; gpu < 4; ++gpu)
    EXPECT_EQ(evidence.contains(FakeGpus::uuid(gpu)), leased.contains(FakeGpus::uuid(gpu)));
}

TEST_F(Gpu, StaysInServiceWhenAChangeProvokesItsErrorsAHundredTimes) {
  server().add_project("trap", kTrapPolicy);
  const std::string id = verify("trap", "bad\n");
  event(id, "run.started", "\"side\":\"change\"");
  for (int round = 0; round < 34; ++round)
    for (const int xid : {13, 31, 43})
      for (int gpu = 0; gpu < 4; ++gpu) gpus->raise_xid(gpu, xid);
  const Document task = server().wait_for(id, "done");
  // Its own failure, at the first attempt.
  EXPECT_EQ(task.at("/verdict"), "rejected");
  EXPECT_EQ(task.at("/failure_class"), "test") << task.at("/reason/text");
  EXPECT_EQ(task.size("/attempts"), 1U);
  for (int gpu = 0; gpu < 4; ++gpu) EXPECT_TRUE(wait_for_state(gpu, "free")) << gpu;
  EXPECT_EQ(gpus->burn_ins(), 0);
}

TEST_F(Gpu, IsLeasedByJoinedRunsAndByThoseOfAnOutsideClock) {
  server().add_project("joined", kJoinedPolicy);
  const std::string id = verify("joined", "better\n");
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("/reason/text");
  std::map<std::string, int> measured;
  int leased = 0;
  int released = 0;
  std::string waiting;
  for (const StreamEvent& one : server().events(id)) {
    leased += one.type == "gpu.leased" ? 1 : 0;
    released += one.type == "gpu.released" ? 1 : 0;
    if (one.type == "gpu.waiting") waiting = one.data;
    if (one.type == "gpu.leased" && waiting.contains("\"work\""))
      ++measured[Document(one.data).at("/data/gpus")];
  }
  EXPECT_EQ(leased, released);
  // A comparison stays on the GPU that it began on.
  ASSERT_EQ(measured.size(), 1U);
  EXPECT_GT(measured.begin()->second, 4);
  EXPECT_GT(leased, measured.begin()->second);
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
