#include "sandbox/host.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/cgroup.h"
#include "sandbox/os/files.h"
#include "sandbox/self_test.h"
#include "tests/support/capability.h"

namespace sandbox {
namespace {

// Far from the range of real programs, so that a running service is not in the way.
constexpr std::uint32_t kFirst = 2'000'000'000;

TEST(IdSlot, IsHeldByOneOwnerAtATime) {
  REQUIRE_CAPABILITY(root);
  const IdSlot first = IdSlot::take().value();
  const IdSlot second = IdSlot::take().value();
  EXPECT_NE(first.index(), second.index());
  EXPECT_EQ(IdSlot::take_index(first.index()).error().code, os::Code::conflict);
}

TEST(IdSlot, IsFreeAgainWhenItsOwnerEnds) {
  REQUIRE_CAPABILITY(root);
  int index = -1;
  {
    const IdSlot slot = IdSlot::take().value();
    index = slot.index();
    const pid_t child = ::fork();
    if (child == 0) ::_exit(IdSlot::take_index(index).has_value() ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 1);
  }
  EXPECT_TRUE(IdSlot::take_index(index).has_value());
}

TEST(IdSlot, StaysTakenWhileAChildHoldsItsLock) {
  REQUIRE_CAPABILITY(root);
  IdSlot slot = IdSlot::take().value();
  const int index = slot.index();
  const os::Fd inherited = os::Fd(::dup(slot.lock_fd()));
  {
    const IdSlot gone = std::move(slot);
  }
  EXPECT_EQ(IdSlot::take_index(index).error().code, os::Code::conflict);
}

TEST(IdSlot, CoversWhatSandboxesMapAndMore) {
  REQUIRE_CAPABILITY(root);
  const IdSlot slot = IdSlot::take().value();
  const IdRange range = slot.range();
  EXPECT_EQ(range.start, 939'524'096U + 65'536U * static_cast<std::uint32_t>(slot.index()));
  EXPECT_EQ(range.count, 65'000U);
  EXPECT_GE(slot.outside_uid(), range.start + range.count);
  EXPECT_LT(slot.outside_uid(), range.start + 65'536U);
}

TEST(IdSlot, KeepsAwayFromIdsOfOthers) {
  REQUIRE_CAPABILITY(root);
  // Slot 0 from here would hold the ids of root and of every system user.
  const os::Result<IdSlot> slot = IdSlot::take(0, 1);
  EXPECT_EQ(slot.error().code, os::Code::exhausted);
}

TEST(IdSlot, EndsWhereIdsEnd) {
  EXPECT_EQ(IdSlot::take_index(-1).error().code, os::Code::invalid);
  EXPECT_EQ(IdSlot::take_index(40'000, kFirst).error().code, os::Code::invalid);
}

TEST(ProbeHost, FindsWhatTestsFindAndLeavesNothing) {
  REQUIRE_CAPABILITY(root);
  const std::vector<Feature> features = probe_host();
  std::set<std::string> names;
  for (const Feature& feature : features) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.detail.empty()) << feature.name;
    EXPECT_EQ(feature.remedy.empty(), feature.present) << feature.name;
  }
  const auto is_present = [&](const std::string& name) {
    const auto found = std::ranges::find(features, name, &Feature::name);
    return found != features.end() && found->present;
  };
  EXPECT_EQ(is_present("user_namespace"), tests::why_missing("userns").empty());
  EXPECT_EQ(is_present("overlayfs"), tests::why_missing("overlayfs").empty());
  EXPECT_EQ(is_present("seccomp"), tests::why_missing("seccomp").empty());
  EXPECT_EQ(is_present("cgroup_memory"), tests::why_missing("cgroup").empty());
  EXPECT_EQ(is_present("landlock"), tests::why_missing("landlock").empty());
  EXPECT_TRUE(CgroupHost::detect()->list("proofhouse-probe").value().empty());
}

// Runs the self-test in a child whose first filter answers connect(2) with `error`, 0: none; a
// call that the self-test does not need itself.
std::string self_test_with(int error) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::array<sock_filter, 4> filter{
        sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
        sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{filter.size(), filter.data()};
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (error != 0) ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    const std::string wrong = run_self_test(Profile::step);
    const ssize_t put = ::write(ends[1], wrong.data(), wrong.size());
    ::_exit(put == std::ssize(wrong) ? 0 : 1);
  }
  ::close(ends[1]);
  const os::Fd reader(ends[0]);
  std::string wrong = os::read_all(reader.get(), 65'536).value_or("unreadable");
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0 ? wrong : "the child died";
}

TEST(SelfTest, FindsTheFilterAsItWasWrittenAndWhatIsNot) {
  REQUIRE_CAPABILITY(seccomp);
  EXPECT_EQ(self_test_with(0), "");
  EXPECT_EQ(self_test_with(EPERM), "connect answers EPERM, not EBADF");
  EXPECT_GT(self_test_calls(Profile::step), 80);
}

TEST(MissingFeatures, AreTheRequiredOnesThatNobodyAllowed) {
  const std::vector<Feature> features{{"a", true, true, "", ""},
                                      {"b", true, false, "", ""},
                                      {"c", false, false, "", ""},
                                      {"d", true, false, "", ""}};
  EXPECT_EQ(missing_features(features, {}), (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(missing_features(features, {"d", "x"}), std::vector<std::string>{"b"});
}

TEST(EnvironmentDigest, ChangesWithThePathsShown) {
  const std::string plain = environment_digest({}).value();
  EXPECT_EQ(plain.size(), 64U);
  EXPECT_EQ(environment_digest({}).value(), plain);
  EXPECT_NE(environment_digest({"/opt/a"}).value(), plain);
  EXPECT_NE(environment_digest({"/opt/a"}).value(), environment_digest({"/opt/", "a"}).value());
}

TEST(Machine, HasCpusAndMemory) {
  const std::vector<int> cpus = available_cpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::ranges::is_sorted(cpus));
  EXPECT_GT(total_memory().value(), os::operator""_MiB(64));
}

}  // namespace
}  // namespace sandbox
