// The same as over the fake library, on a real GPU with its driver. Skipped where there is none.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "sandbox/gpu/pool.h"
#include "sandbox/gpu/release.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"
#include "tests/sandbox/jail_fixture.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

using sandbox::gpu::GpuPool;
using sandbox::gpu::GpuState;
using sandbox::gpu::Lease;
using sandbox::gpu::LeaseEnd;

class RealGpu : public JailTest {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(gpu);
    REQUIRE_CAPABILITY(nvcc);
    JailTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sandbox::gpu::PoolOptions options;
    options.book = *directory / "book";
    options.scrub = program_path("gpu_scrub");
    options.burn_in = program_path("gpu_burn_in");
    os::Result<std::unique_ptr<GpuPool>> opened = GpuPool::open(options);
    ASSERT_OK(opened);
    pool = std::move(*opened);
    grants = *directory / "grants";
    std::filesystem::create_directory(grants);
    bounds.driver_files = pool->inventory().driver_files;
    programs = guest_path("gpu_guest");
    if (!std::filesystem::exists(programs)) GTEST_SKIP() << "gpu_guest is not built";
    programs.erase(programs.rfind('/'));
  }

  // One GPU for a run of the guest.
  sandbox::RunResult guest(const std::string& run, const std::string& mode,
                           std::chrono::seconds wall = std::chrono::seconds(60)) {
    const Lease lease = acquire(run);
    sandbox::RunRequest wish = request(run, "/proofhouse/gpu_guest " + mode);
    wish.gpus = true;
    wish.limits.memory = os::Bytes{2ULL << 30U};
    wish.limits.wall = wall;
    for (const std::string& variable : lease.environment) wish.environment.push_back(variable);
    sandbox::RunResult result = JailTest::run(wish);
    last = pool->release("a.1", run).value_or(LeaseEnd{});
    return result;
  }

  Lease acquire(const std::string& run) {
    sandbox::gpu::LeaseRequest wish;
    wish.run = run;
    const sandbox::gpu::HolderProcess self{::getpid(), os::process_start_time(::getpid()).value()};
    os::Result<Lease> lease = os::fail(os::Code::exhausted, "");
    for (int round = 0; round < 600 && !lease; ++round) {
      lease = pool->acquire(wish, {"a.1", self, nullptr});
      if (!lease) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_TRUE(lease.has_value()) << lease.error().message;
    if (!lease) return {};
    write_file(grants + "/" + run, sandbox::encode(pool->grant("a.1", run).value()));
    return *lease;
  }

  GpuState settled() {
    for (int round = 0; round < 1200; ++round) {
      const GpuState state = pool->list().front().state;
      if (state == GpuState::free || state == GpuState::quarantined) return state;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return pool->list().front().state;
  }

  std::unique_ptr<GpuPool> pool;
  LeaseEnd last;
};

TEST_F(RealGpu, PassesItsBurnIn) {
  EXPECT_EQ(sandbox::gpu::run_tool(program_path("gpu_burn_in"), pool->list().front().uuid,
                                   std::chrono::minutes(15), std::stop_token()),
            "");
}

TEST_F(RealGpu, HoldsNothingOfTheLastUserAfterItsScrub) {
  EXPECT_TRUE(guest("r1", "hog").outcome.is_success()) << head("r1");
  EXPECT_EQ(last.fault, "");
  EXPECT_GT(last.uses.at(0).telemetry.memory_peak, 1LL << 30U);
  EXPECT_EQ(settled(), GpuState::free) << pool->list().front().reason;
  EXPECT_TRUE(guest("r2", "residue").outcome.is_success()) << head("r2");
  EXPECT_EQ(head("r2"), "0\n");
}

TEST_F(RealGpu, IsFreeAgainAfterAnEndlessKernelWasKilled) {
  EXPECT_EQ(guest("r1", "spin", std::chrono::seconds(5)).outcome,
            sandbox::Outcome::timed_out("wall"));
  EXPECT_EQ(last.fault, "");
  EXPECT_EQ(settled(), GpuState::free) << pool->list().front().reason;
}

TEST_F(RealGpu, StaysInServiceAfterATrap) {
  EXPECT_EQ(guest("r1", "trap").outcome, sandbox::Outcome::exited(3)) << head("r1");
  EXPECT_EQ(last.fault, "");
  EXPECT_EQ(settled(), GpuState::free) << pool->list().front().reason;
}

TEST_F(RealGpu, IsNotThereForARunThatAskedForNone) {
  const sandbox::RunResult result = run(request("r1", "/proofhouse/gpu_guest trap"));
  EXPECT_EQ(result.outcome, sandbox::Outcome::exited(2)) << head("r1");
}

}  // namespace
}  // namespace tests
