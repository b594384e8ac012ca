#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runner/cli/sandbox_run.h"

namespace runner::cli {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

std::string complaint(const Words& words) {
  const os::Result<SandboxRunOptions> options = parse_sandbox_run(words);
  if (options) return "accepted";
  EXPECT_EQ(options.error().code, os::Code::invalid);
  return options.error().message;
}

TEST(SandboxRunOptions, ReadEveryLimitInBothSpellings) {
  const SandboxRunOptions options =
      parse_sandbox_run(
          {"--json",      "--memory", "128M",   "--wall=3s",   "--idle",     "0s",    "--pids=64",
           "--cpus",      "2",        "--disk", "1MiB",        "--inodes",   "9",     "--files",
           "32",          "--output", "2K",     "--keep=1K",   "--cpu-time", "5m",    "--env",
           "A=b=c",       "--env",    "E=",     "--workspace", "/w",         "--out", "/o",
           "--allow-gap", "idmap",    "--gpu",  "2",           "--config",   "/c",    "--",
           "--odd",       "-x"})
          .value();
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.limits.memory, os::Bytes{128U << 20U});
  EXPECT_EQ(options.limits.wall, milliseconds(3000));
  EXPECT_EQ(options.limits.idle, milliseconds(0));
  EXPECT_EQ(options.limits.cpu_time, milliseconds(300'000));
  EXPECT_EQ(options.limits.pids, 64);
  EXPECT_EQ(options.limits.cpus, 2);
  EXPECT_EQ(options.limits.disk, os::Bytes{1U << 20U});
  EXPECT_EQ(options.limits.inodes, 9);
  EXPECT_EQ(options.limits.files, 32);
  EXPECT_EQ(options.limits.output, os::Bytes{2048});
  EXPECT_EQ(options.limits.keep, os::Bytes{1024});
  EXPECT_EQ(options.environment, (Words{"A=b=c", "E="}));
  EXPECT_EQ(options.workspace, "/w");
  EXPECT_EQ(options.out, "/o");
  EXPECT_EQ(options.allow_gaps, Words{"idmap"});
  EXPECT_EQ(options.gpus, 2);
  EXPECT_EQ(options.config, "/c");
  EXPECT_EQ(options.command, (Words{"--odd", "-x"}));
}

TEST(SandboxRunOptions, EndAtTheFirstWordOfTheCommand) {
  const SandboxRunOptions options = parse_sandbox_run({"--pids", "3", "ls", "--json"}).value();
  EXPECT_EQ(options.command, (Words{"ls", "--json"}));
  EXPECT_FALSE(options.json);
}

TEST(SandboxRunOptions, WriteIntoMemorySoDiskIsNeverLarger) {
  EXPECT_EQ(parse_sandbox_run({"--memory", "32M", "x"})->limits.disk, os::Bytes{32U << 20U});
  EXPECT_EQ(parse_sandbox_run({"--memory", "32M", "x"})->limits.shm, os::Bytes{32U << 20U});
  EXPECT_EQ(parse_sandbox_run({"x"})->limits, sandbox::Limits{});
  EXPECT_NE(complaint({"--memory", "1M", "--disk", "2M", "x"}).find("--disk"), std::string::npos);
}

TEST(SandboxRunOptions, NameTheWordThatIsWrong) {
  EXPECT_NE(complaint({"--memroy", "1M", "x"}).find("--memroy"), std::string::npos);
  EXPECT_NE(complaint({"--memory", "1MB", "x"}).find("--memory"), std::string::npos);
  EXPECT_NE(complaint({"--memory", "0", "x"}).find("--memory"), std::string::npos);
  EXPECT_NE(complaint({"--wall", "3", "x"}).find("--wall"), std::string::npos);
  EXPECT_NE(complaint({"--wall", "0s", "x"}).find("--wall"), std::string::npos);
  EXPECT_NE(complaint({"--pids", "0", "x"}).find("--pids"), std::string::npos);
  EXPECT_NE(complaint({"--pids", "many", "x"}).find("'many'"), std::string::npos);
  EXPECT_NE(complaint({"--cpus", "-1", "x"}).find("--cpus"), std::string::npos);
  EXPECT_NE(complaint({"--env", "A", "x"}).find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(complaint({"--env", "=b", "x"}).find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(complaint({"--pids"}).find("needs a value"), std::string::npos);
  EXPECT_NE(complaint({"--out=", "x"}).find("--out"), std::string::npos);
}

TEST(SandboxRunOptions, NeedACommandUnlessHelpIsWanted) {
  EXPECT_NE(complaint({}).find("no command"), std::string::npos);
  EXPECT_NE(complaint({"--json", "--"}).find("no command"), std::string::npos);
  EXPECT_TRUE(parse_sandbox_run({"--help"})->help);
}

}  // namespace
}  // namespace runner::cli
