#include "sandbox/limits.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sandbox/jail_fixture.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

using sandbox::LimitHit;
using sandbox::Outcome;
using sandbox::RunRequest;
using sandbox::RunResult;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Each case runs one guest that misbehaves. Every limit has to hold within a second; a machine that
// is busy with other tests gets some more.
constexpr milliseconds kGrace{1000};
constexpr milliseconds kBusy{4000};

const LimitHit* find(const RunResult& result, const std::string& limit) {
  const auto found = std::ranges::find(result.limits_hit, limit, &LimitHit::limit);
  return found == result.limits_hit.end() ? nullptr : &*found;
}

class LimitsTest : public JailTest {
 protected:
  void SetUp() override {
    JailTest::SetUp();
    programs = guest_path("nothing").parent_path();
    if (IsSkipped() || HasFatalFailure()) return;
    REQUIRE_BUILT(guest_path("nothing"));
  }

  void TearDown() override {
    JailTest::TearDown();
    if (!slot) return;
    EXPECT_EQ(processes_of_our_ids(), std::vector<std::string>{});
    EXPECT_EQ(mounts_of(directory->path()), 0);
  }

  RunRequest guest(const std::string& name, const std::vector<std::string>& arguments = {}) {
    RunRequest asked = request(name, "");
    asked.command = {"/proofhouse/" + name};
    asked.command.insert(asked.command.end(), arguments.begin(), arguments.end());
    asked.limits.memory = os::Bytes{128U << 20U};
    asked.limits.disk = os::Bytes{16U << 20U};
    asked.limits.shm = os::Bytes{64U << 20U};
    asked.limits.pids = 64;
    asked.limits.wall = seconds(20);
    return asked;
  }

  // Runs it and checks that it was over in time.
  RunResult timed(const RunRequest& asked) {
    if (client == nullptr) start();
    const auto begin = std::chrono::steady_clock::now();
    RunResult result = run(asked);
    const auto spent = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(spent, asked.limits.wall + kGrace + kBusy);
    EXPECT_LT(result.usage.wall_ms, (asked.limits.wall + kGrace).count());
    return result;
  }

 private:
  // Processes anywhere on the machine that run under an id of our slot.
  std::vector<std::string> processes_of_our_ids() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      struct stat info{};
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      if (::stat(entry.path().c_str(), &info) != 0) continue;
      if (info.st_uid - slot->range().start < 65'536U) found.push_back(name);
    }
    return found;
  }

  static int mounts_of(const std::string& path) {
    std::ifstream mounts("/proc/self/mountinfo");
    int count = 0;
    for (std::string line; std::getline(mounts, line);) count += line.contains(path) ? 1 : 0;
    return count;
  }
};

TEST_F(LimitsTest, MemoryHogIsKilled) {
  RunRequest hog = guest("hog_memory");
  hog.limits.memory = os::Bytes{48U << 20U};
  const RunResult result = timed(hog);
  EXPECT_EQ(result.outcome, Outcome::killed("memory"));
  ASSERT_NE(find(result, "memory"), nullptr);
  EXPECT_EQ(find(result, "memory")->bound, 48 << 20);
  EXPECT_GE(result.usage.memory_peak, 47 << 20);
  EXPECT_LE(result.usage.memory_peak, 48 << 20);
}

TEST_F(LimitsTest, FilesInMemoryCountAsMemory) {
  RunRequest hog = guest("hog_tmpfs");
  hog.limits.memory = os::Bytes{32U << 20U};
  const RunResult result = timed(hog);
  EXPECT_EQ(result.outcome, Outcome::killed("memory"));
  EXPECT_NE(find(result, "memory"), nullptr);
}

TEST_F(LimitsTest, ForkBombHitsTheProcessLimitAndIsCountedAsLeftBehind) {
  const RunResult result = timed(guest("fork_bomb"));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  ASSERT_NE(find(result, "pids"), nullptr);
  EXPECT_EQ(find(result, "pids")->bound, 64);
  EXPECT_GE(result.usage.left_behind, 32);
}

TEST_F(LimitsTest, ForkBombThatWaitsIsTimedOut) {
  RunRequest bomb = guest("fork_bomb", {"wait"});
  bomb.limits.wall = milliseconds(2000);
  const RunResult result = timed(bomb);
  EXPECT_EQ(result.outcome, Outcome::timed_out("wall"));
  EXPECT_NE(find(result, "pids"), nullptr);
  EXPECT_NE(find(result, "wall"), nullptr);
}

TEST_F(LimitsTest, ThreadsCountAsProcesses) {
  const RunResult result = timed(guest("make_threads"));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_NE(find(result, "pids"), nullptr);
  EXPECT_LE(std::stoi(head("make_threads")), 64);
}

TEST_F(LimitsTest, SleeperWithAnOrphanIsTimedOutAndTheOrphanDies) {
  RunRequest sleeper = guest("orphan", {"60"});
  sleeper.limits.wall = milliseconds(1500);
  const RunResult result = timed(sleeper);
  EXPECT_EQ(result.outcome, Outcome::timed_out("wall"));
  ASSERT_NE(find(result, "wall"), nullptr);
  EXPECT_EQ(find(result, "wall")->bound, 1500);
  EXPECT_GE(find(result, "wall")->figure, 1500);
}

TEST_F(LimitsTest, CommandEndsWithItsFirstProcessAndItsOrphanIsKilled) {
  const RunResult result = timed(guest("orphan"));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(result.usage.left_behind, 1);
  EXPECT_LT(result.usage.wall_ms, 10'000);
}

TEST_F(LimitsTest, ChildThatHoldsTheOutputHoldsNobody) {
  const RunResult result = timed(guest("hold_stdout"));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(result.usage.left_behind, 1);
  EXPECT_EQ(head("hold_stdout"), "before the end\n");
  EXPECT_LT(result.usage.wall_ms, 10'000);
}

TEST_F(LimitsTest, EndlessPrinterIsKilledAtItsOutput) {
  RunRequest printer = guest("print_forever");
  printer.limits.output = os::Bytes{2U << 20U};
  printer.limits.keep = os::Bytes{4096};
  const RunResult result = timed(printer);
  EXPECT_EQ(result.outcome, Outcome::killed("output"));
  ASSERT_NE(find(result, "output"), nullptr);
  EXPECT_EQ(find(result, "output")->bound, 2 << 20);
  EXPECT_GE(result.output_bytes, 2 << 20);
  EXPECT_LT(result.output_bytes, 4 << 20);
  EXPECT_EQ(result.head_bytes + result.tail_bytes, 4096);
}

TEST_F(LimitsTest, OutputUpToItsLimitIsAllowed) {
  RunRequest printer = guest("print_bytes", {"100000"});
  printer.limits.output = os::Bytes{100'000};
  printer.limits.keep = os::Bytes{1000};
  const RunResult result = timed(printer);
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_EQ(result.output_bytes, 100'000);
  EXPECT_EQ(file("runs/print_bytes/head").substr(0, 10), "000000000\n");
  EXPECT_TRUE(file("runs/print_bytes/tail").ends_with("000099990\n"));
}

TEST_F(LimitsTest, DeafCommandIsKilledAtItsDeadline) {
  RunRequest deaf = guest("ignore_signals");
  deaf.limits.wall = milliseconds(1500);
  EXPECT_EQ(timed(deaf).outcome, Outcome::timed_out("wall"));
  EXPECT_EQ(head("ignore_signals"), "deaf\n");
}

TEST_F(LimitsTest, SilentSleeperIsIdle) {
  RunRequest sleeper = guest("orphan", {"60"});
  sleeper.limits.idle = milliseconds(1500);
  const RunResult result = timed(sleeper);
  EXPECT_EQ(result.outcome, Outcome::timed_out("idle"));
  ASSERT_NE(find(result, "idle"), nullptr);
  EXPECT_LT(result.usage.wall_ms, 10'000);
}

TEST_F(LimitsTest, SilentWorkerIsNotIdle) {
  RunRequest worker = guest("spin", {"3"});
  worker.limits.idle = milliseconds(1500);
  EXPECT_EQ(timed(worker).outcome, Outcome::exited(0));
}

TEST_F(LimitsTest, WorkerIsStoppedAtItsCpuTime) {
  RunRequest worker = guest("spin");
  worker.limits.cpu_time = milliseconds(500);
  const RunResult result = timed(worker);
  EXPECT_EQ(result.outcome, Outcome::timed_out("cpu"));
  ASSERT_NE(find(result, "cpu"), nullptr);
  EXPECT_GE(result.usage.user_ms + result.usage.sys_ms, 450);
  EXPECT_LT(result.usage.user_ms + result.usage.sys_ms, 1500);
}

TEST_F(LimitsTest, FullDiskRefusesWritesAndIsKnown) {
  const RunResult result = timed(guest("fill_disk"));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  ASSERT_NE(find(result, "disk"), nullptr);
  EXPECT_EQ(find(result, "disk")->bound, 16 << 20);
  EXPECT_LE(std::stol(head("fill_disk")), 16 << 10);
}

TEST_F(LimitsTest, FullSharedMemoryIsToldApartFromTheDisk) {
  RunRequest filler = guest("fill_disk", {"/dev/shm/full"});
  filler.limits.shm = os::Bytes{4U << 20U};
  const RunResult result = timed(filler);
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  ASSERT_NE(find(result, "shm"), nullptr);
  EXPECT_EQ(find(result, "shm")->bound, 4 << 20);
  EXPECT_EQ(find(result, "disk"), nullptr);
}

TEST_F(LimitsTest, FilesWithoutEndRunOutOfInodes) {
  RunRequest filler = guest("fill_inodes");
  filler.limits.inodes = 300;
  const RunResult result = timed(filler);
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  ASSERT_NE(find(result, "inodes"), nullptr);
  EXPECT_EQ(find(result, "inodes")->bound, 300);
  EXPECT_LE(std::stol(head("fill_inodes")), 400);
}

TEST_F(LimitsTest, OpenFilesAreBounded) {
  RunRequest opener = guest("open_files");
  opener.limits.files = 50;
  EXPECT_EQ(timed(opener).outcome, Outcome::exited(0));
  EXPECT_LE(std::stol(head("open_files")), 50);
}

TEST_F(LimitsTest, OrdinaryCommandHitsNothingAndTellsWhatItUsed) {
  const RunResult result = timed(guest("spin", {"1"}));
  EXPECT_EQ(result.outcome, Outcome::exited(0));
  EXPECT_TRUE(result.limits_hit.empty());
  EXPECT_EQ(result.usage.left_behind, 0);
  EXPECT_GE(result.usage.wall_ms, 900);
  EXPECT_GT(result.usage.user_ms, 50);
  EXPECT_GT(result.usage.memory_peak, 0);
}

TEST_F(LimitsTest, ExitCodesAndSignalsArePassedThrough) {
  RunRequest end = guest("end_with", {"code", "42"});
  EXPECT_EQ(timed(end).outcome, Outcome::exited(42));
  end.id = "by-signal";
  end.command = {"/proofhouse/end_with", "signal", std::to_string(SIGUSR1)};
  EXPECT_EQ(timed(end).outcome, Outcome::signalled(SIGUSR1));
}

}  // namespace
}  // namespace tests
