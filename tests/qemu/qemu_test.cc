#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/qemu/guest_machine.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

std::filesystem::path test_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

TEST(Guest, HasOnlyCgroupV2AndWhatTheSandboxNeeds) {
  REQUIRE_CAPABILITY(qemu);
  const GuestRun run = run_in_guest({test_folder() / "probe/capability_probe"},
                                    "capability_probe root,userns,overlayfs,cgroup2,seccomp &&\n"
                                    "! grep ' - cgroup ' /proc/self/mountinfo\n");
  EXPECT_EQ(run.status, 0) << run.output;
}

TEST(Guest, PassesOutputAndExitStatusThrough) {
  REQUIRE_CAPABILITY(qemu);
  const GuestRun run = run_in_guest({}, "echo out; echo err >&2; exit 7\n");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.output, "out\nerr\n");
}

// The sandbox's own tests of groups and limits, once more on the kind of machine that is used.
TEST(Guest, EnforcesLimitsByCgroupV2) {
  REQUIRE_CAPABILITY(qemu);
  const GuestRun run = run_in_guest(
      {test_folder() / "v2/v2_test", program_path("jail"), guest_path("").parent_path()},
      "export PROOFHOUSE_PROGRAM_DIR=/usr/lib/proofhouse\n"
      "export EXPECT_CAPABILITIES=root,userns,overlayfs,cgroup,cgroup2,seccomp\n"
      // What needs a hierarchy of v1.
      "v2_test --gtest_brief=1 --gtest_color=no '--gtest_filter=-*WithoutUnified:CgroupGaps.*'\n");
  EXPECT_EQ(run.status, 0) << run.output;
}

}  // namespace
}  // namespace tests
