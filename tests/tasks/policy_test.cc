// Globs, guarded paths, owners, and the canonical JSON of a policy.

#include "tasks/policy.h"

#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/digest.h"
#include "tasks/policy_json.h"
#include "tasks/policy_yaml.h"

namespace tasks {
namespace {

struct GlobCase {
  const char* glob;
  const char* path;
  bool matches;
};

TEST(Glob, MatchesAsInGitignore) {
  const std::vector<GlobCase> cases{
      {"src/**", "src/a.cc", true},
      {"src/**", "src/a/b.cc", true},
      {"src/**", "src", false},
      {"src/**", "lib/src/a.cc", false},
      {"src/*", "src/a.cc", true},
      {"src/*", "src/a/b.cc", false},
      {"src/?.cc", "src/a.cc", true},
      {"src/?.cc", "src/ab.cc", false},
      {"src/?x", "src//x", false},
      {"*.so", "a.so", true},
      {"*.so", "lib/deep/a.so", true},
      {"*.so", "a.so.1", false},
      {"**", "any/thing", true},
      {"**/a.cc", "a.cc", true},
      {"**/a.cc", "x/y/a.cc", true},
      {"**/a.cc", "xa.cc", false},
      {"a/**/b", "a/b", true},
      {"a/**/b", "a/x/y/b", true},
      {"a/**/b", "a/xb", false},
      {"SRC/**", "src/a.cc", false},
      {"docs/*.md", "docs/a.md", true},
      {"docs/*.md", "docs/a.mdx", false},
      {"proofhouse.yaml", "proofhouse.yaml", true},
      {"a*b*c/x", "aXbXc/x", true},
      {"", "", true},
      {"", "a", false},
  };
  for (const GlobCase& each : cases)
    EXPECT_EQ(glob_matches(each.glob, each.path), each.matches) << each.glob << " " << each.path;
}

TEST(Glob, IsNotExponentialInItsStars) {
  std::string glob;
  for (int i = 0; i < 200; ++i) glob += "*a";
  EXPECT_FALSE(glob_matches(glob + "/b", std::string(2000, 'a') + "/c"));
}

TEST(Guarded, IsEverythingOutsideTheSubject) {
  Policy policy;
  EXPECT_TRUE(is_guarded(policy, "src/a.cc"));
  policy.subject = {"src/**"};
  EXPECT_FALSE(is_guarded(policy, "src/a.cc"));
  EXPECT_TRUE(is_guarded(policy, "tests/a.cc"));
}

TEST(Guarded, IsThePolicyFileWhateverTheSubjectSays) {
  Policy policy;
  policy.subject = {"**"};
  EXPECT_TRUE(is_guarded(policy, "proofhouse.yaml"));
  EXPECT_FALSE(is_guarded(policy, "other.yaml"));
}

TEST(Guarded, IsWhatIsLoadedForItsNameAloneWhateverTheSubjectSays) {
  Policy policy;
  policy.subject = {"src/**", "*.py", "**"};
  for (const char* const path :
       {"conftest.py", "src/deep/conftest.py", "src/sitecustomize.py", "src/a.pth",
        "src/CTestCustom.cmake", ".cargo/config.toml", "src/.cargo/config", ".config/nextest.toml",
        "pytest.ini", "src/pyproject.toml", "GNUmakefile", "src/build.rs"})
    EXPECT_TRUE(is_guarded(policy, path)) << path;
  for (const char* const path : {"src/my_conftest.py", "conftest.py.md", "src/config.toml",
                                 "cargo/config.toml", "src/pth", "Makefile", "src/rs"})
    EXPECT_FALSE(is_guarded(policy, path)) << path;
}

TEST(Guarded, IsNoAutoloadFileThatASubjectNames) {
  Policy policy;
  policy.subject = {"src/**", "tests/**/conftest.py", "site/*.pth", "pyproject.toml",
                    "*/config.toml"};
  EXPECT_FALSE(is_guarded(policy, "tests/unit/conftest.py"));
  EXPECT_FALSE(is_guarded(policy, "site/tally.pth"));
  EXPECT_FALSE(is_guarded(policy, "pyproject.toml"));
  EXPECT_TRUE(is_guarded(policy, "src/conftest.py"));
  EXPECT_TRUE(is_guarded(policy, "src/tally.pth"));
  EXPECT_TRUE(is_guarded(policy, ".cargo/config.toml"));
}

TEST(Owners, CountByTheLongestGlobOfEachPathAndTheMostOfAll) {
  Policy policy;
  policy.owners = {{"**", 1}, {"tests/**", 3}, {"tests/easy/**", 2}};
  EXPECT_EQ(owner_approvals(policy, {}), 0);
  EXPECT_EQ(owner_approvals(policy, {"CMakeLists.txt"}), 1);
  EXPECT_EQ(owner_approvals(policy, {"tests/easy/a.cc"}), 2);
  EXPECT_EQ(owner_approvals(policy, {"CMakeLists.txt", "tests/a.cc"}), 3);
}

TEST(Owners, AreNeededForAGuardedPathThatNoGlobNames) {
  Policy policy;
  policy.owners = {{"docs/**", 2}};
  EXPECT_EQ(owner_approvals(policy, {"CMakeLists.txt"}), 1);
}

Policy small_policy() {
  const PolicyReading reading = read_policy(R"(version: 1
steps:
  build: {run: make}
  test: {needs: [build], run: ./t, report: {tap: t.tap}, environment: {A: b}, gpu: {count: 2}}
gates:
  tests: {kind: tests, steps: [test]}
  size: {kind: diff, max_lines: 10}
)");
  EXPECT_EQ(format_problems("p", reading.problems), "");
  return reading.policy.value_or(Policy{});
}

TEST(PolicyJson, ComesBackAsItWas) {
  const Policy policy = small_policy();
  const os::Result<Policy> back = policy_from_json(policy_to_json(policy));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, policy);
  EXPECT_EQ(policy_to_json(*back), policy_to_json(policy));
}

TEST(PolicyJson, WritesEveryDefaultOut) {
  Policy policy;
  EXPECT_EQ(policy_to_json(policy),
            R"({"environment":"host","gates":[],"limits":{"cpu_time_ms":0,"cpus":1,)"
            R"("disk":1073741824,"files":1024,"idle_ms":300000,"inodes":200000,"keep":1048576,)"
            R"("memory":2147483648,"output":16777216,"pids":512,"shm":67108864,"wall_ms":600000},)"
            R"("owners":{"**":1},"promotion":{"approval":"clean-rebase","approvals":1,)"
            R"("assurance":null,"notes":false,"override_owners":false,"self_owner":false,)"
            R"("strategy":"rebase"},"schema":2,"steps":[],)"
            R"("subject":[],"total_ms":3600000})");
}

TEST(PolicyJson, RefusesUnknownKeys) {
  std::string json = policy_to_json(small_policy());
  json.replace(json.find("\"environment\""), 13, "\"surrounding\"");
  const os::Result<Policy> back = policy_from_json(json);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, os::Code::invalid);
  EXPECT_NE(back.error().message.find("environment"), std::string::npos) << back.error().message;
}

TEST(PolicyJson, RefusesANewerSchema) {
  std::string json = policy_to_json(Policy{});
  json.replace(json.find("\"schema\":2"), 10, "\"schema\":3");
  const os::Result<Policy> back = policy_from_json(json);
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().message.find("newer"), std::string::npos) << back.error().message;
}

TEST(PolicyJson, IsTheSameForTheSamePolicyWrittenDifferently) {
  const auto read = [](std::string_view text) {
    return policy_to_json(read_policy(text).policy.value_or(Policy{}));
  };
  EXPECT_EQ(read("version: 1\nsteps: {a: {run: x}}\ngates: {d: {kind: diff, max_files: 1}}\n"),
            read("gates:\n  d:\n    max_files: 1\n    kind: diff\nversion: 1\n"
                 "limits: {memory: 2048MiB}\nsteps:\n  a:\n    run: \"x\"\n"));
}

}  // namespace
}  // namespace tasks
