#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/cgroup_files.h"
#include "sandbox/host.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tests/support/capability.h"

namespace sandbox {
namespace {

using std::chrono::milliseconds;

// Starts a child that joins the group and then runs `body`; its exit code is what body returns.
pid_t start_in(const Cgroup& group, const std::function<int()>& body) {
  const std::vector<os::Fd> joins = group.join_descriptors().value();
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const os::Fd& join : joins)
    if (::write(join.get(), "0", 1) != 1) ::_exit(101);
  ::_exit(body());
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

int sleep_long() {
  ::sleep(60);
  return 0;
}

// This machine's hierarchies as they are, and without cgroup2: then v1 has to do everything.
enum class View : std::uint8_t { whole, without_unified };

CgroupHost host_as(View view) {
  if (view == View::whole) return CgroupHost::detect().value();
  std::istringstream all(os::read_file("/proc/self/mountinfo").value());
  std::string kept;
  for (std::string line; std::getline(all, line);)
    if (!line.contains(" - cgroup2 ")) kept += line + "\n";
  return CgroupHost::parse(kept, "");
}

class CgroupTest : public testing::TestWithParam<View> {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(root);
    REQUIRE_CAPABILITY(cgroup);
    host_ = host_as(GetParam());
    if (host_.layout() == CgroupLayout::none) GTEST_SKIP() << "this machine has cgroup2 only";
  }

  void TearDown() override { EXPECT_EQ(host_.list(prefix_).value(), std::vector<std::string>{}); }

  Cgroup make(const std::string& below = "attempt/run") {
    return Cgroup::create(host_, prefix_ + "/" + below).value();
  }

  Cgroup limited(const Limits& limits, const std::vector<int>& cpus = {}) {
    Cgroup group = make();
    EXPECT_EQ(group.apply(limits, cpus).value(), std::vector<std::string>{});
    return group;
  }

  CgroupHost host_;
  std::string prefix_ = "proofhouse-test-" + os::random_hex(4);
};

TEST_P(CgroupTest, ExistsInEveryHierarchyUntilItIsRemoved) {
  Cgroup group = make();
  EXPECT_EQ(host_.list(prefix_).value().size(), 3 * host_.hierarchies().size());
  EXPECT_TRUE(group.remove().has_value());
  EXPECT_TRUE(host_.list(prefix_).value().empty());
  EXPECT_TRUE(group.remove().has_value());
}

TEST_P(CgroupTest, IsMadeOnlyOnce) {
  const Cgroup group = make();
  EXPECT_EQ(Cgroup::create(host_, group.path()).error().code, os::Code::conflict);
  EXPECT_EQ(host_.list(prefix_).value().size(), 3 * host_.hierarchies().size());
}

TEST_P(CgroupTest, RefusesPathsThatAreNone) {
  for (const char* const path : {"", "/a", "a/", "a//b", "a/../b", "..", "a/."})
    EXPECT_EQ(Cgroup::create(host_, path).error().code, os::Code::invalid) << path;
  EXPECT_EQ(Cgroup::open(host_, "..").error().code, os::Code::invalid);
  EXPECT_EQ(Cgroup::open(host_, prefix_).error().code, os::Code::not_found);
}

TEST_P(CgroupTest, LeavesParentsToThoseWhoMadeThem) {
  const Cgroup attempt = make("attempt");
  {
    const Cgroup run = make("attempt/run");
  }
  EXPECT_EQ(host_.list(prefix_).value().size(), 2 * host_.hierarchies().size());
}

TEST_P(CgroupTest, KillsEveryProcessWhenClosed) {
  pid_t child = -1;
  {
    const Cgroup group = make();
    child = start_in(group, sleep_long);
    for (int i = 0; i < 500 && group.population().value() == 0; ++i)
      std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(exit_code(wait_for(child)), -SIGKILL);
}

TEST_P(CgroupTest, KillsOrphansInOtherSessionsAndCountsThem) {
  Cgroup group = make();
  const pid_t child = start_in(group, [] {
    for (int i = 0; i < 5; ++i)
      if (::fork() == 0) {
        ::setsid();
        if (::fork() != 0) ::_exit(0);
        ::signal(SIGTERM, SIG_IGN);
        ::_exit(sleep_long());
      }
    for (int i = 0; i < 5; ++i) ::wait(nullptr);
    return 0;
  });
  EXPECT_EQ(exit_code(wait_for(child)), 0);
  EXPECT_EQ(group.population().value(), 5);
  EXPECT_EQ(group.kill_all().value(), 5);
  EXPECT_EQ(group.population().value(), 0);
  EXPECT_EQ(group.kill_all().value(), 0);
}

TEST_P(CgroupTest, OutrunsAForkBomb) {
  Limits limits;
  limits.pids = 100;
  Cgroup group = limited(limits);
  const pid_t child = start_in(group, [] {
    ::alarm(30);
    while (::getppid() != 0)
      if (::fork() == 0) ::alarm(30);
    return 0;
  });
  for (int i = 0; i < 1000 && group.stats().value().pids_denied == 0; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_GE(group.kill_all().value(), 50);
  EXPECT_EQ(group.population().value(), 0);
  EXPECT_EQ(exit_code(wait_for(child)), -SIGKILL);
  EXPECT_GT(group.stats().value().pids_denied, 0);
}

TEST_P(CgroupTest, KillsWhatLiesInGroupsBelow) {
  Cgroup outer = make("attempt");
  const Cgroup inner = make("attempt/run");
  const pid_t child = start_in(inner, sleep_long);
  for (int i = 0; i < 500 && outer.population().value() == 0; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(outer.kill_all().value(), 1);
  EXPECT_EQ(exit_code(wait_for(child)), -SIGKILL);
}

TEST_P(CgroupTest, MemoryLimitKillsAndIsCounted) {
  Limits limits;
  limits.memory = os::operator""_MiB(32);
  Cgroup group = limited(limits);
  const pid_t child = start_in(group, [] {
    constexpr std::size_t kSize = std::size_t{96} << 20U;
    void* const block =
        ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(block, 1, kSize);
    return 0;
  });
  EXPECT_EQ(exit_code(wait_for(child)), -SIGKILL);
  const CgroupStats stats = group.stats().value();
  EXPECT_GE(stats.oom_kills, 1);
  EXPECT_LE(stats.memory_peak, 32LL << 20U);
  EXPECT_GE(stats.memory_peak, 30LL << 20U);
}

TEST_P(CgroupTest, ProcessLimitRefusesForksAndCountsThem) {
  Limits limits;
  limits.pids = 4;
  Cgroup group = limited(limits);
  const pid_t child = start_in(group, [] {
    int made = 0;
    for (int i = 0; i < 10; ++i) {
      const pid_t below = ::fork();
      if (below == 0) ::_exit(sleep_long());
      if (below > 0) ++made;
    }
    return made;
  });
  EXPECT_EQ(exit_code(wait_for(child)), 3);
  EXPECT_EQ(group.stats().value().pids_denied, 7);
  EXPECT_EQ(group.kill_all().value(), 3);
}

TEST_P(CgroupTest, RunsOnTheCpusItWasGiven) {
  const int last = available_cpus().back();
  Cgroup group = limited(Limits{}, {last});
  const pid_t child = start_in(group, [&] {
    cpu_set_t set;
    CPU_ZERO(&set);
    ::sched_getaffinity(0, sizeof set, &set);
    return CPU_COUNT(&set) == 1 && CPU_ISSET(static_cast<std::size_t>(last), &set) ? 0 : 1;
  });
  EXPECT_EQ(exit_code(wait_for(child)), 0);
}

TEST_P(CgroupTest, CountsTheCpuTimeOfDeadProcesses) {
  const Cgroup group = make();
  const pid_t child = start_in(group, [] {
    while (std::clock() < CLOCKS_PER_SEC / 10) {
    }
    return 0;
  });
  EXPECT_EQ(exit_code(wait_for(child)), 0);
  EXPECT_GE(group.cpu_time_us().value(), 90'000);
  EXPECT_LE(group.cpu_time_us().value(), 1'000'000);
  const CgroupStats stats = group.stats().value();
  EXPECT_GE(stats.user_us + stats.sys_us, 90'000);
}

int count_devices() {
  int usable = 0;
  for (const char* const name : {"null", "zero", "full", "random", "urandom"})
    if (::access((std::string("/dev/") + name).c_str(), F_OK) == 0 &&
        ::close(::open((std::string("/dev/") + name).c_str(), O_RDWR | O_CLOEXEC)) == 0)
      ++usable;
  return usable;
}

// Which device numbers the child may use: a node of each is made before it joins.
int device_verdict(const std::string& kmsg, const std::string& node) {
  if (count_devices() != 5) return 1;
  if (::open(kmsg.c_str(), O_RDONLY | O_CLOEXEC) >= 0 || errno != EPERM) return 2;
  if (::mknod(node.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0 || errno != EPERM) return 3;
  return 0;
}

TEST_P(CgroupTest, DeniesAllDevicesButTheUsualOnes) {
  const os::TempDir directory = os::TempDir::create().value();
  const std::string kmsg = directory / "kmsg";
  ASSERT_EQ(::mknod(kmsg.c_str(), S_IFCHR | 0600, makedev(1, 11)), 0);
  Cgroup group = limited(Limits{});
  const pid_t child = start_in(group, [&] { return device_verdict(kmsg, directory / "made"); });
  EXPECT_EQ(exit_code(wait_for(child)), 0);
}

TEST_P(CgroupTest, AllowsTheDevicesOfALeaseAndNotTheirNeighbours) {
  // NVIDIA's major number: where its driver is not loaded, what is allowed answers ENXIO.
  const os::TempDir directory = os::TempDir::create().value();
  for (const unsigned minor : {0U, 1U})
    ASSERT_EQ(::mknod((directory / ("gpu" + std::to_string(minor))).c_str(), S_IFCHR | 0600,
                      makedev(195, minor)),
              0);
  Cgroup group = Cgroup::create(host_, prefix_ + "/leased").value();
  ASSERT_TRUE(group.apply(Limits{}, {}, {{"nvidia1", 195, 1}}).has_value());
  const pid_t child = start_in(group, [&] {
    const auto denied = [&](const char* name) {
      const int file = ::open((directory / name).c_str(), O_RDWR | O_CLOEXEC);
      return file < 0 && errno == EPERM;
    };
    return (denied("gpu0") ? 0 : 1) + (denied("gpu1") ? 2 : 0);
  });
  EXPECT_EQ(exit_code(wait_for(child)), 0);
}

TEST_P(CgroupTest, SweepKillsAndRemovesEverythingOfAPrefix) {
  const os::Result<Cgroup> first = Cgroup::create(host_, prefix_ + "/a/b");
  const os::Result<Cgroup> second = Cgroup::create(host_, prefix_ + "-more/c");
  const pid_t child = start_in(*first, sleep_long);
  for (int i = 0; i < 500 && first->population().value() == 0; ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(host_.sweep(prefix_).value(), 2);
  EXPECT_TRUE(host_.list(prefix_).value().empty());
  EXPECT_EQ(exit_code(wait_for(child)), -SIGKILL);
  EXPECT_EQ(host_.sweep(prefix_).value(), 0);
  EXPECT_EQ(host_.sweep("").error().code, os::Code::invalid);
}

INSTANTIATE_TEST_SUITE_P(Views, CgroupTest, testing::Values(View::whole, View::without_unified),
                         [](const auto& view) {
                           return view.param == View::whole ? "Whole" : "WithoutUnified";
                         });

TEST(CgroupDevices, AreDeniedByABpfProgramOnV2) {
  REQUIRE_CAPABILITY(root);
  const CgroupHost host = CgroupHost::detect().value();
  const auto unified = std::ranges::find_if(host.hierarchies(), &CgroupHost::Hierarchy::is_unified);
  if (unified == host.hierarchies().end()) GTEST_SKIP() << "no cgroup2 is mounted";
  const std::string path = unified->directory("proofhouse-test-" + os::random_hex(4));
  ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
  const os::Fd group = open_group(path).value();
  EXPECT_TRUE(deny_devices_by_bpf(group.get(), {}).has_value());
  const os::TempDir directory = os::TempDir::create().value();
  const std::string kmsg = directory / "kmsg";
  ASSERT_EQ(::mknod(kmsg.c_str(), S_IFCHR | 0600, makedev(1, 11)), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (!write_group_file(group.get(), "cgroup.procs", "0")) ::_exit(101);
    ::_exit(device_verdict(kmsg, directory / "made"));
  }
  EXPECT_EQ(exit_code(wait_for(child)), 0);
  EXPECT_EQ(::rmdir(path.c_str()), 0);
}

constexpr const char* kV1 =
    "30 25 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
    "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 25 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
    "33 25 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
    "34 25 0:26 / /other/memory rw - cgroup cgroup rw,memory\n";

TEST(CgroupHost, FindsV1HierarchiesOnceAndCountsInTheFreezer) {
  const CgroupHost host = CgroupHost::parse(kV1, "1:memory:/user\n");
  EXPECT_EQ(host.layout(), CgroupLayout::v1);
  ASSERT_EQ(host.hierarchies().size(), 3U);
  EXPECT_EQ(host.hierarchies()[0].mount, "/sys/fs/cgroup/freezer");
  EXPECT_EQ(host.hierarchies()[1].directory("a/b"), "/sys/fs/cgroup/memory/a/b");
  EXPECT_TRUE(host.hierarchies()[2].has("cpuacct"));
  EXPECT_FALSE(host.hierarchies()[2].has("cpua"));
}

TEST(CgroupHost, CountsInTheUnifiedHierarchyOfAHybrid) {
  const CgroupHost host =
      CgroupHost::parse(std::string(kV1) + "40 25 0:30 / /none rw - cgroup2 none rw\n", "0::/\n");
  EXPECT_EQ(host.layout(), CgroupLayout::hybrid);
  ASSERT_EQ(host.hierarchies().size(), 3U);
  EXPECT_TRUE(host.hierarchies()[0].is_unified());
  EXPECT_NE(host.describe().find("hybrid"), std::string::npos);
}

TEST(CgroupHost, WithoutCgroupsHasNone) {
  const CgroupHost host = CgroupHost::parse("1 1 0:1 / / rw - ext4 /dev/sda rw\n", "");
  EXPECT_EQ(host.layout(), CgroupLayout::none);
  EXPECT_EQ(Cgroup::create(host, "a").error().code, os::Code::unavailable);
}

TEST(CgroupHost, ListsOnlyTheControllersThatV2Gives) {
  const os::TempDir root = os::TempDir::create().value();
  ASSERT_TRUE(os::write_file_durably(root / "cgroup.controllers", "cpu io hugetlb pids\n"));
  const CgroupHost host =
      CgroupHost::parse("1 1 0:1 / " + root.path() + " rw - cgroup2 none rw\n", "0::/user\n");
  EXPECT_EQ(host.layout(), CgroupLayout::v2);
  EXPECT_EQ(host.hierarchies()[0].controllers, "unified,pids,cpu,io");
  EXPECT_EQ(host.hierarchies()[0].base, "/");
}

TEST(CgroupHost, UsesItsOwnGroupWhereThatIsDelegated) {
  REQUIRE_CAPABILITY(root);
  const os::TempDir root = os::TempDir::create().value();
  ASSERT_TRUE(os::make_directories(root / "system.slice/p.service").has_value());
  const std::string own = root / "system.slice/p.service";
  if (::setxattr(own.c_str(), "trusted.delegate", "1", 1, 0) != 0)
    GTEST_SKIP() << "no extended attributes in " << root.path();
  const CgroupHost host = CgroupHost::parse("1 1 0:1 / " + root.path() + " rw - cgroup2 none rw\n",
                                            "0::/system.slice/p.service\n");
  EXPECT_EQ(host.hierarchies()[0].directory("x"), own + "/x");
}

TEST(CgroupGaps, NameWhatNoHierarchyEnforces) {
  REQUIRE_CAPABILITY(root);
  const CgroupHost whole = CgroupHost::detect().value();
  if (whole.layout() != CgroupLayout::hybrid) GTEST_SKIP() << "needs a hybrid layout";
  std::istringstream all(os::read_file("/proc/self/mountinfo").value());
  std::string kept;
  for (std::string line; std::getline(all, line);)
    if (line.contains(" - cgroup2 ")) kept += line + "\n";
  Cgroup group =
      Cgroup::create(CgroupHost::parse(kept, ""), "proofhouse-test-" + os::random_hex(4)).value();
  EXPECT_EQ(
      group.apply(Limits{}, {0}).value(),
      (std::vector<std::string>{"cgroup_memory", "cgroup_pids", "cgroup_cpu", "cgroup_cpuset"}));
}

}  // namespace
}  // namespace sandbox
