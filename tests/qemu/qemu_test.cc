#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "tests/qemu/guest_machine.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

// The folder with capability_probe, a dynamic program of ours that is always built.
std::filesystem::path probe_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "probe";
}

TEST(Guest, HasOnlyCgroupV2AndWhatTheSandboxNeeds) {
  REQUIRE_CAPABILITY(qemu);
  const GuestRun run = run_in_guest(probe_folder(),
                                    "capability_probe root,userns,overlayfs,cgroup2,seccomp &&\n"
                                    "! grep ' - cgroup ' /proc/self/mountinfo\n");
  EXPECT_EQ(run.status, 0) << run.output;
}

TEST(Guest, PassesOutputAndExitStatusThrough) {
  REQUIRE_CAPABILITY(qemu);
  const GuestRun run = run_in_guest(probe_folder(), "echo out; echo err >&2; exit 7\n");
  EXPECT_EQ(run.status, 7);
  EXPECT_EQ(run.output, "out\nerr\n");
}

}  // namespace
}  // namespace tests
