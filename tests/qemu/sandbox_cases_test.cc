// The misdeeds of tests/guests through `proofhouse sandbox run`, on this machine and on one with
// nothing but cgroup v2.

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
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

std::filesystem::path cases_script() { return source_dir() / "tests/qemu/sandbox_cases.sh"; }

TEST(SandboxCases, EndAsDesignedOnThisMachine) {
  REQUIRE_CAPABILITY(root);
  REQUIRE_CAPABILITY(userns);
  REQUIRE_CAPABILITY(overlayfs);
  REQUIRE_CAPABILITY(cgroup);
  REQUIRE_CAPABILITY(seccomp);
  const std::string programs = program_path("proofhouse").parent_path().string();
  const std::string command = "PATH='" + programs + "':\"$PATH\" '" + cases_script().string() +
                              "' '" + guest_path("").string() + "' 1 >&2";
  const int status = std::system(command.c_str());  // NOLINT(*-env33-c): a script of this tree
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(SandboxCases, EndAsDesignedOnPureCgroupV2) {
  REQUIRE_CAPABILITY(qemu);
  std::ifstream file(cases_script());
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  // An emulated processor is some ten times slower, and the host may be busy.
  const GuestRun run = run_in_guest(entries_of(program_path("proofhouse").parent_path()),
                                    "set -- /usr/lib/proofhouse/guests 30\n" + script);
  EXPECT_EQ(run.status, 0) << run.output;
}

}  // namespace
}  // namespace tests
