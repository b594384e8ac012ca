// The pool over a fake NVIDIA library: leases, errors, what is done before the next one.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "sandbox/gpu/pool.h"
#include "sandbox/gpu/release.h"
#include "sandbox/gpu/survey.h"
#include "sandbox/os/process_info.h"
#include "tests/support/capability.h"
#include "tests/support/fake_gpus.h"

namespace sandbox::gpu {
namespace {

using tests::FakeGpus;

class Pool : public ::testing::Test {
 protected:
  void SetUp() override { REQUIRE_CAPABILITY(root); }

  GpuPool& pool() {
    if (!pool_) {
      os::Result<std::unique_ptr<GpuPool>> opened = GpuPool::open(gpus.options());
      if (!opened) throw std::runtime_error(opened.error().message);
      pool_ = std::move(*opened);
    }
    return *pool_;
  }
  void close() { pool_.reset(); }

  static LeaseHolder holder(const std::string& owner = "a.1") {
    return {owner, {::getpid(), os::process_start_time(::getpid()).value()}, nullptr};
  }
  static LeaseRequest wish(const std::string& run, int count = 1) {
    LeaseRequest request;
    request.run = run;
    request.count = count;
    return request;
  }
  GpuStatus status(int gpu) {
    for (const GpuStatus& one : pool().list())
      if (one.uuid == FakeGpus::uuid(gpu)) return one;
    throw std::runtime_error("no such GPU");
  }
  // The state, once it has come; what it is otherwise.
  GpuState wait_for(int gpu, GpuState state) {
    for (int round = 0; round < 2000 && status(gpu).state != state; ++round)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return status(gpu).state;
  }
  // One lease of the first GPU, with something done meanwhile.
  LeaseEnd use(const std::function<void()>& meanwhile) {
    LeaseRequest request = wish("r1");
    request.same = {FakeGpus::uuid(0)};
    const os::Result<Lease> lease = pool().acquire(request, holder());
    if (!lease) throw std::runtime_error(lease.error().message);
    EXPECT_EQ(lease->uuids, std::vector<std::string>{FakeGpus::uuid(0)});
    meanwhile();
    os::Result<LeaseEnd> end = pool().release("a.1", "r1");
    if (!end) throw std::runtime_error(end.error().message);
    return *end;
  }

  // Until the child holds the first GPU's node.
  void wait_for_holder(pid_t child) {
    const GpuNode node{"nvidia0", gpus.major_number(), 0};
    while (!node_users({node}).contains(child))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  FakeGpus gpus{4, FakeGpus::own_major()};

 private:
  std::unique_ptr<GpuPool> pool_;
};

TEST_F(Pool, ListsWhatTheLibraryAndTheNodesSay) {
  const std::vector<GpuStatus> list = pool().list();
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[2].uuid, FakeGpus::uuid(2));
  EXPECT_EQ(list[2].memory.count, 80ULL << 30U);
  EXPECT_EQ(list[2].reason, "");
  const Gpu& gpu = pool().inventory().gpus[2];
  ASSERT_EQ(gpu.nodes.size(), 3U);
  EXPECT_EQ(gpu.nodes[2], (GpuNode{"nvidia2", gpus.major_number(), 2}));
  std::vector<std::string> names;
  for (const DriverFile& file : pool().inventory().driver_files) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string>{"libcuda.so.1.0", "libcuda.so.1"}));
}

TEST_F(Pool, GivesEachGpuToOneRun) {
  const Lease one = pool().acquire(wish("r1", 2), holder("a.1")).value();
  const Lease two = pool().acquire(wish("r1", 2), holder("b.1")).value();
  for (const std::string& uuid : one.uuids)
    EXPECT_EQ(std::ranges::find(two.uuids, uuid), two.uuids.end());
  EXPECT_EQ(pool().acquire(wish("r2"), holder("a.1")).error().code, os::Code::exhausted);
  EXPECT_EQ(pool().acquire(wish("r2", 5), holder("a.1")).error().code, os::Code::invalid);
  EXPECT_EQ(pool().grant("a.1", "r1")->uuids, one.uuids);
  EXPECT_EQ(pool().grant("a.1", "r2").error().code, os::Code::not_found);
}

TEST_F(Pool, OffersOnlyWhatTheOperatorAllows) {
  PoolOptions options = gpus.options();
  options.inventory.allow = {FakeGpus::uuid(1)};
  const auto allowed = GpuPool::open(options).value();
  ASSERT_EQ(allowed->list().size(), 1U);
  EXPECT_EQ(allowed->list()[0].uuid, FakeGpus::uuid(1));
  options.inventory.allow = {"GPU-of-another-machine"};
  EXPECT_EQ(GpuPool::open(options).error().code, os::Code::not_found);
}

TEST_F(Pool, ScrubsAGpuBeforeTheNextRunGetsIt) {
  use([] {});
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  EXPECT_EQ(gpus.scrubs(), 1);
  EXPECT_EQ(status(0).uses, 1);
}

TEST_F(Pool, LeasesNothingWhereNothingCanScrub) {
  PoolOptions options = gpus.options();
  options.scrub.clear();
  EXPECT_EQ(GpuPool::open(options).value()->acquire(wish("r"), holder()).error().code,
            os::Code::unavailable);
  options.may_skip_scrub = true;
  const Lease lease = GpuPool::open(options).value()->acquire(wish("r"), holder()).value();
  EXPECT_EQ(lease.gaps, std::vector<std::string>{"gpu_scrub"});
}

TEST_F(Pool, QuarantinesAGpuThatCannotBeScrubbedUntilItsBurnInPasses) {
  gpus.fail_scrub(true);
  gpus.fail_burn_in(true);
  EXPECT_EQ(use([] {}).fault, "");
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
  EXPECT_EQ(status(0).reason, "scrub failed (exit 1): a cell is broken");
  for (int round = 0; round < 1000 && gpus.burn_ins() < 2; ++round)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(status(0).state, GpuState::quarantined);
  gpus.fail_scrub(false);
  gpus.fail_burn_in(false);
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  EXPECT_TRUE(pool().acquire(wish("r2", 4), holder()).has_value());
}

TEST_F(Pool, QuarantinesAGpuOnWhichTheLibrarySeesAProcess) {
  use([&] { gpus.set(0, "processes", "12345"); });
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
  EXPECT_EQ(status(0).reason, "processes are left on it: 12345");
  gpus.set(0, "processes", "");
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
}

TEST_F(Pool, QuarantinesAGpuWhoseNodeAProcessHolds) {
  pid_t child = -1;
  use([&] {
    child = ::fork();
    if (child == 0) {
      const std::string node = gpus.devices() + "/nvidia0";
      if (::open(node.c_str(), O_PATH) >= 0) ::pause();
      ::_exit(1);
    }
    wait_for_holder(child);
  });
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
  EXPECT_EQ(status(0).reason, "processes are left on it: " + std::to_string(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
}

TEST_F(Pool, DoesNotMindAMonitorThatWasThereBefore) {
  const pid_t monitor = ::fork();
  if (monitor == 0) {
    const std::string node = gpus.devices() + "/nvidia0";
    if (::open(node.c_str(), O_PATH) >= 0) ::pause();
    ::_exit(1);
  }
  wait_for_holder(monitor);
  use([] {});
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  ::kill(monitor, SIGKILL);
  ::waitpid(monitor, nullptr, 0);
}

TEST_F(Pool, PassesOverAGpuThatSomebodyElseUses) {
  gpus.set(0, "processes", "4242");
  EXPECT_EQ(pool().acquire(wish("r1"), holder()).value().uuids,
            std::vector<std::string>{FakeGpus::uuid(1)});
  EXPECT_EQ(status(0).state, GpuState::free);
}

TEST_F(Pool, DoesExactlyWhatTheTableSaysForEachError) {
  for (const int xid : {8, 11, 13, 31, 32, 39, 68, 69, 94, 96, 97, 43, 44, 45, 66, 63, 92, 999}) {
    const LeaseEnd end = use([&] { gpus.raise_xid(0, xid); });
    EXPECT_EQ(end.fault, "") << xid;
    EXPECT_EQ(end.uses[0].xids, std::vector<int>{xid});
    ASSERT_EQ(wait_for(0, GpuState::free), GpuState::free) << xid;
  }
  gpus.fail_burn_in(true);
  for (const int xid : {46,  48,  62, 64, 95,  109, 110, 119, 120, 140, 143, 155,
                        156, 158, 79, 74, 144, 145, 146, 147, 148, 149, 150}) {
    const LeaseEnd end = use([&] { gpus.raise_xid(0, xid); });
    EXPECT_TRUE(end.fault.contains("Xid " + std::to_string(xid))) << end.fault;
    ASSERT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined) << xid;
    gpus.fail_burn_in(false);
    ASSERT_TRUE(pool().uncordon(FakeGpus::uuid(0)).has_value());
    ASSERT_EQ(wait_for(0, GpuState::free), GpuState::free) << xid;
    gpus.fail_burn_in(true);
  }
}

TEST_F(Pool, FollowsTheDriversRecoveryAction) {
  gpus.fail_burn_in(true);
  EXPECT_EQ(use([&] { gpus.raise_xid(0, 154); }).fault, "");
  ASSERT_EQ(wait_for(0, GpuState::free), GpuState::free);
  const LeaseEnd end = use([&] {
    gpus.set(0, "recovery", "1");
    gpus.raise_xid(0, 154);
  });
  EXPECT_TRUE(end.fault.contains("asks for a reset")) << end.fault;
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
}

TEST_F(Pool, QuarantinesAGpuWithMemoryErrors) {
  gpus.fail_burn_in(true);
  const LeaseEnd end = use([&] { gpus.set(0, "ecc_uncorrected", "2"); });
  EXPECT_TRUE(end.fault.contains("2 uncorrected memory errors")) << end.fault;
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
}

TEST_F(Pool, KeepsAGpuThatFellOffTheBusOutUntilItIsBack) {
  const LeaseEnd end = use([&] { gpus.set(0, "lost", "1"); });
  EXPECT_TRUE(end.fault.contains("fallen off the bus")) << end.fault;
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
  // The burn-in would pass, but there is nothing to burn in.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(gpus.burn_ins(), 0);
  EXPECT_EQ(status(0).state, GpuState::quarantined);
  gpus.set(0, "lost", "");
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  EXPECT_EQ(gpus.burn_ins(), 1);
}

TEST_F(Pool, KeepsAGpuInServiceThatATaskProvokesAHundredTimes) {
  for (int round = 0; round < 100; ++round) {
    const LeaseEnd end = use([&] {
      gpus.raise_xid(0, 13);
      gpus.raise_xid(0, 31);
      gpus.raise_xid(0, 43);
    });
    ASSERT_EQ(end.fault, "");
    ASSERT_EQ(end.uses[0].xids, (std::vector<int>{13, 31, 43}));
    ASSERT_EQ(wait_for(0, GpuState::free), GpuState::free) << status(0).reason;
  }
  EXPECT_EQ(status(0).uses, 100);
  EXPECT_EQ(gpus.burn_ins(), 0);
}

TEST_F(Pool, SeesAFaultOfHardwareBehindTheErrorsOfATask) {
  gpus.fail_burn_in(true);
  const LeaseEnd end = use([&] {
    for (int round = 0; round < 100; ++round) gpus.raise_xid(0, 13);
    gpus.raise_xid(0, 119);
  });
  EXPECT_TRUE(end.fault.contains("Xid 119")) << end.fault;
  EXPECT_EQ(std::ranges::count(end.uses[0].xids, 13), 64);
  EXPECT_EQ(wait_for(0, GpuState::quarantined), GpuState::quarantined);
}

TEST_F(Pool, QuarantinesAFreeGpuOnAFaultOfHardwareOnly) {
  gpus.fail_burn_in(true);
  pool();
  gpus.raise_xid(1, 13);
  gpus.raise_xid(2, 79);
  EXPECT_EQ(wait_for(2, GpuState::quarantined), GpuState::quarantined);
  EXPECT_EQ(status(1).state, GpuState::free);
}

TEST_F(Pool, DoesNotLeaseACordonedGpu) {
  for (int gpu = 0; gpu < 3; ++gpu)
    ASSERT_TRUE(pool().cordon(FakeGpus::uuid(gpu), "fan is loud").has_value());
  EXPECT_EQ(status(0).reason, "fan is loud");
  EXPECT_EQ(pool().acquire(wish("r1"), holder()).value().uuids,
            std::vector<std::string>{FakeGpus::uuid(3)});
  EXPECT_EQ(pool().acquire(wish("r2"), holder()).error().code, os::Code::exhausted);
  close();
  // The operator's word outlives the program that took it.
  EXPECT_TRUE(status(0).is_cordoned);
  ASSERT_TRUE(pool().uncordon(FakeGpus::uuid(0)).has_value());
  EXPECT_TRUE(pool().acquire(wish("r3"), holder()).has_value());
  EXPECT_EQ(pool().cordon("GPU-none", "").error().code, os::Code::not_found);
}

TEST_F(Pool, TakesOverWhatADeadProgramLeft) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto other = GpuPool::open(gpus.options());
    const auto lease = (*other)->acquire(wish("r9"), holder("dead.1"));
    ::_exit(lease ? 0 : 1);  // without any goodbye
  }
  int ended = 0;
  ::waitpid(child, &ended, 0);
  ASSERT_EQ(ended, 0);
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  EXPECT_EQ(gpus.scrubs(), 1);
}

TEST_F(Pool, LetsTwoProgramsShareTheMachine) {
  const auto other = GpuPool::open(gpus.options()).value();
  const Lease theirs = other->acquire(wish("r1", 3), holder("b.1")).value();
  const Lease ours = pool().acquire(wish("r1", 1), holder("a.1")).value();
  EXPECT_EQ(std::ranges::find(theirs.uuids, ours.uuids[0]), theirs.uuids.end());
  EXPECT_EQ(pool().acquire(wish("r2"), holder("a.1")).error().code, os::Code::exhausted);
}

TEST_F(Pool, SamplesWhatTheGpuDoes) {
  const LeaseEnd end = use([&] {
    gpus.set(0, "util", "100");
    gpus.set(0, "used", "1000000");
    gpus.set(0, "energy", "7000");
    gpus.set(0, "throttle", "64");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  });
  ASSERT_EQ(end.uses.size(), 1U);
  const GpuTelemetry& sum = end.uses[0].telemetry;
  EXPECT_EQ(end.driver, "999.1");
  EXPECT_GE(sum.samples, 2);
  EXPECT_GT(sum.busy_ms, 0);
  EXPECT_EQ(sum.busy_ms + sum.starved_ms + sum.idle_ms, sum.held_ms);
  EXPECT_EQ(sum.memory_peak, 1000000);
  EXPECT_EQ(sum.energy_mj, 2000);
  EXPECT_EQ(sum.throttled, std::vector<std::string>{"hw_thermal"});
}

TEST_F(Pool, LeasesInstancesOfASplitGpuByTheirCapsNodes) {
  gpus.split(0, 2);
  const std::vector<GpuStatus> list = pool().list();
  ASSERT_EQ(list.size(), 5U);
  EXPECT_EQ(list[0].uuid, "MIG-0-0");
  EXPECT_EQ(list[0].parent, FakeGpus::uuid(0));
  const Lease lease = pool().acquire(wish("r1"), holder()).value();
  EXPECT_EQ(lease.uuids, std::vector<std::string>{"MIG-0-0"});
  std::vector<std::string> names;
  const GpuGrant grant = pool().grant("a.1", "r1").value();
  for (const GpuNode& node : grant.nodes) names.push_back(node.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"nvidiactl", "nvidia-uvm", "nvidia0",
                                      "nvidia-caps/nvidia-cap1", "nvidia-caps/nvidia-cap2"}));
  EXPECT_EQ(pool().acquire(wish("r2"), holder()).value().uuids,
            std::vector<std::string>{"MIG-0-1"});
}

TEST_F(Pool, SaysWhyThereIsNoGpu) {
  gpus.set("broken", "9");
  const auto broken = GpuPool::open(gpus.options());
  EXPECT_EQ(broken.error().code, os::Code::unavailable);
  EXPECT_TRUE(broken.error().message.contains("Driver Not Loaded")) << broken.error().message;
  PoolOptions options = gpus.options();
  options.inventory.nvml = gpus.path() + "/none.so";
  EXPECT_EQ(GpuPool::open(options).error().code, os::Code::not_found);
}

TEST_F(Pool, IsSurveyedWithoutAChange) {
  const GpuSurvey before = survey_gpus(gpus.options()).value();
  EXPECT_EQ(before.driver, "999.1");
  ASSERT_EQ(before.gpus.size(), 4U);
  EXPECT_TRUE(before.gpus[0].is_usable);
  EXPECT_NE(::access(gpus.book().c_str(), F_OK), 0);
  ASSERT_TRUE(pool().acquire(wish("r1", 2), holder()).has_value());
  ASSERT_TRUE(pool().cordon(FakeGpus::uuid(3), "new fan").has_value());
  // Only the program that leased them knows what they do.
  std::vector<GpuStatus> list = pool().list();
  EXPECT_TRUE(list[0].telemetry && list[1].telemetry && !list[2].telemetry);
  for (GpuStatus& gpu : list) gpu.telemetry.reset();
  EXPECT_EQ(survey_gpus(gpus.options()).value().gpus, list);
  PoolOptions options = gpus.options();
  options.scrub.clear();
  const GpuStatus lacking = survey_gpus(options).value().gpus[2];
  EXPECT_FALSE(lacking.is_usable);
  EXPECT_TRUE(lacking.reason.contains("gpu_scrub")) << lacking.reason;
}

TEST_F(Pool, RefusesASpecificationThatOthersMayWrite) {
  ASSERT_EQ(::chmod(gpus.cdi().c_str(), 0666), 0);
  EXPECT_EQ(GpuPool::open(gpus.options()).error().code, os::Code::denied);
}

TEST_F(Pool, TellsWhenAGpuBecomesFree) {
  use([] {});
  EXPECT_EQ(wait_for(0, GpuState::free), GpuState::free);
  pollfd poll_for{.fd = pool().changed_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&poll_for, 1, 5000), 1);
  pool().acknowledge();
  EXPECT_EQ(::poll(&poll_for, 1, 0), 0);
}

}  // namespace
}  // namespace sandbox::gpu
