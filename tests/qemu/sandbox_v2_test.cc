#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/qemu/guest_machine.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

// The jail, its guests and the cases of tests/sandbox, in one folder for the guest machine.
void gather(const fs::path& folder) {
  const fs::path cases = fs::read_symlink("/proc/self/exe").parent_path() / "qemu/sandbox_v2_cases";
  fs::create_symlink(cases, folder / "sandbox_v2_cases");
  fs::create_symlink(program_path("jail"), folder / "jail");
  fs::create_directory_symlink(guest_path("nothing").parent_path(), folder / "guests");
}

// Production runs on pure cgroup v2, which the machine of the developers need not have.
TEST(SandboxOnCgroupV2, HoldsEveryLimitAgainstEveryGuest) {
  REQUIRE_CAPABILITY(qemu);
  if (!fs::exists(program_path("jail"))) GTEST_SKIP() << "jail is not built";
  const os::TempDir folder = os::TempDir::create("qemu-sandbox").value();
  gather(folder.path());
  // Emulation is some twenty times slower, and other work slows it further.
  ::setenv("QEMU_TIMEOUT", "800", 1);
  const GuestRun run = run_in_guest(
      folder.path(),
      "export PROOFHOUSE_PROGRAM_DIR=/usr/lib/proofhouse\n"
      "export EXPECT_CAPABILITIES=root,userns,overlayfs,cgroup,cgroup2,seccomp\n"
      "sandbox_v2_cases --gtest_brief=1 --gtest_filter=-*WithoutUnified:CgroupGaps.* || exit 1\n"
      "! ls -d /sys/fs/cgroup/proofhouse*\n");
  EXPECT_EQ(run.status, 0) << run.output;
  EXPECT_EQ(run.output.find("SKIPPED"), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("[  PASSED  ]"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace tests
