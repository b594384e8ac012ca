// `proofhouse check` and `policy prove` as a user starts them: real repositories, real sandboxes,
// no server.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, wall: 60s, idle: 30s, total: 3m}
steps:
  build: {run: "cp src/value built; sleep 0"}
  test: {needs: [build], run: sh tests/run.sh, report: {tap: report.tap}}
gates:
  tests: {kind: tests, steps: [test]}
)";

constexpr std::string_view kTest = R"sh(status=0
echo 1..2 > report.tap
echo ok 1 - there is a value >> report.tap
if [ "$(cat built)" = good ]; then
  echo ok 2 - the value is good >> report.tap
else
  echo not ok 2 - the value is good >> report.tap
  status=1
fi
exit $status
)sh";

struct Ended {
  int code = -1;
  std::string output;
};

class CheckCommandLine : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(root);
    REQUIRE_CAPABILITY(userns);
    REQUIRE_CAPABILITY(overlayfs);
    REQUIRE_CAPABILITY(cgroup);
    REQUIRE_CAPABILITY(git);
    git({"init", "-q", "-b", "main", "."});
    write("proofhouse.yaml", kPolicy);
    write("tests/run.sh", kTest);
    write("src/value", "good");
    commit("base");
  }

  std::string repository() const { return work_ / "repository"; }

  void write(const std::string& path, std::string_view text) {
    const fs::path file = fs::path(repository()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  Ended start(const std::string& program, const std::vector<std::string>& arguments, bool search) {
    fs::create_directories(repository());
    os::SpawnRequest request;
    request.program = program;
    request.arguments = arguments;
    request.search_path = search;
    request.directory = repository();
    request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + (work_ / "home"),
                           "XDG_CACHE_HOME=" + (work_ / "cache"), "GIT_CONFIG_SYSTEM=/dev/null",
                           "LANG=C.UTF-8"};
    const auto captured = os::run_captured(std::move(request), std::chrono::minutes(4));
    if (!captured) {
      ADD_FAILURE() << captured.error().message;
      return {};
    }
    return {captured->status.code, captured->output};
  }

  void git(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"-c", "user.name=t", "-c", "user.email=t@example.invalid"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    ASSERT_EQ(start("git", all, true).code, 0) << arguments.front();
  }

  void commit(const std::string& message) {
    git({"add", "-A"});
    git({"commit", "-q", "-m", message});
  }

  Ended check(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"check", "--base", "HEAD~1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(tests::program_path("proofhouse"), arguments, false);
  }

  os::TempDir work_ = os::TempDir::create("check").value();
};

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CheckCommandLine, AcceptsAChangeThatPasses) {
  write("src/more", "1");
  commit("more");
  const Ended end = check();
  EXPECT_EQ(end.code, 0) << end.output;
  EXPECT_TRUE(holds(end.output, "accepted")) << end.output;
}

TEST_F(CheckCommandLine, RejectsAChangeThatBreaksATestAndNamesIt) {
  write("src/value", "bad");
  commit("break");
  const Ended end = check();
  EXPECT_EQ(end.code, 1) << end.output;
  EXPECT_TRUE(holds(end.output, "the value is good")) << end.output;
}

TEST_F(CheckCommandLine, ListsGuardedFilesAndLeavesThemToTheOwners) {
  write("tests/notes", "x");
  commit("notes");
  const Ended end = check();
  EXPECT_EQ(end.code, 8) << end.output;
  EXPECT_TRUE(holds(end.output, "guarded files: tests/notes")) << end.output;
}

TEST_F(CheckCommandLine, JudgesCommitsAndNeverTheWorkingTree) {
  write("src/more", "1");
  commit("more");
  write("src/value", "bad");
  write("tests/run.sh", "exit 1\n");
  EXPECT_EQ(check().code, 0);
}

TEST_F(CheckCommandLine, RunsTheBaseOnlyOnce) {
  write("src/more", "1");
  commit("more");
  const Ended first = check({"--json"});
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_FALSE(holds(first.output, R"("carried":true)"));
  const Ended second = check({"--json"});
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_TRUE(holds(second.output, R"("carried":true)")) << second.output;
}

TEST_F(CheckCommandLine, TakesAPolicyFromAsideWhereTheBaseHasNone) {
  git({"rm", "-q", "proofhouse.yaml"});
  git({"commit", "-q", "-m", "without a policy"});
  write("src/more", "1");
  commit("more");
  EXPECT_EQ(check().code, 7);
  const std::string policy = work_ / "policy.yaml";
  std::ofstream(policy) << kPolicy;
  const Ended end = check({"--policy", policy});
  EXPECT_EQ(end.code, 0) << end.output;
}

TEST_F(CheckCommandLine, LeavesNothingBehindButItsCache) {
  write("src/more", "1");
  commit("more");
  ASSERT_EQ(check().code, 0);
  EXPECT_TRUE(fs::is_empty(work_ / "cache/proofhouse/check/attempts"));
}

TEST_F(CheckCommandLine, SaysWhichRevisionDoesNotExist) {
  write("src/more", "1");
  commit("more");
  EXPECT_EQ(check({"--head", "no-such-branch"}).code, 5);
  EXPECT_EQ(
      start(tests::program_path("proofhouse"), {"check", "--base", "no-such-tag"}, false).code, 5);
}

// A step of the subject's code leaves out/y.npy, 4 x 3 single-precision numbers, and out/note.
constexpr std::string_view kComparing = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, wall: 60s, idle: 30s, total: 3m}
steps:
  work: {run: python3 src/work.py, outputs: {out: out/}}
gates:
  same: {kind: determinism, step: work, outputs: [out]}
  close: {kind: parity, step: work, outputs: {out/y.npy: {reference: base, rtol: 1e-3}}}
)";

constexpr std::string_view kWork = R"py(import os, struct
values = [float(i + 1) for i in range(12)]
note = "steady"
CHANGE
header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }\n".encode()
os.makedirs("out", exist_ok=True)
with open("out/y.npy", "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
    file.write(struct.pack("<12f", *values))
with open("out/note", "w") as file:
    file.write("note: " + note + "\n")
)py";

class CheckComparing : public CheckCommandLine {
 protected:
  // The program with one more line, committed.
  void work(const std::string& change, const std::string& message) {
    std::string text(kWork);
    text.replace(text.find("CHANGE"), 6, change);
    write("src/work.py", text);
    commit(message);
  }
  void SetUp() override {
    CheckCommandLine::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    write("proofhouse.yaml", kComparing);
    work("", "base with a program");
  }
};

TEST_F(CheckComparing, CatchesAStepThatLeavesOtherBytesEachTime) {
  work("note = os.urandom(8).hex()", "random");
  const Ended end = check();
  EXPECT_EQ(end.code, 1) << end.output;
  EXPECT_TRUE(holds(end.output, "out/note (byte ")) << end.output;
  EXPECT_TRUE(holds(end.output, "in another")) << end.output;
}

TEST_F(CheckComparing, LetsArraysDifferWithinTheirTolerance) {
  work("values = [v * 1.0001 for v in values]", "near");
  const Ended end = check();
  EXPECT_EQ(end.code, 0) << end.output;
}

TEST_F(CheckComparing, CatchesOneWrongRowAndNaNOnBothSides) {
  work("values[6:9] = [0.0, 0.0, 0.0]", "wrong row");
  Ended end = check();
  EXPECT_EQ(end.code, 1) << end.output;
  EXPECT_TRUE(holds(end.output, "out/y.npy[2, 0]")) << end.output;
  EXPECT_TRUE(holds(end.output, "0 is its value, 7 the reference's")) << end.output;
  work("values[0] = float('nan')", "not a number");
  work("values[0] = float('nan') # still", "not a number on both sides");
  end = check();
  EXPECT_EQ(end.code, 1) << end.output;
  EXPECT_TRUE(holds(end.output, "NaN, which is never near")) << end.output;
}

// A project in Python whose only gate is a report that its own test program writes.
constexpr std::string_view kProved = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, wall: 60s, idle: 30s, total: 3m}
steps:
  test: {run: python3 tests/run.py, report: {tap: report.tap}}
gates:
  tests: {kind: tests, steps: [test]}
)";

constexpr std::string_view kProvedTests = R"py(import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "src"))
import numbers_of

def test_doubles():
    assert numbers_of.twice(4) == 8

status = 0
with open("report.tap", "w") as report:
    try:
        test_doubles()
        report.write("1..1\nok 1 - doubles\n")
    except Exception:
        report.write("1..1\nnot ok 1 - doubles\n")
        status = 1
sys.exit(status)
)py";

TEST_F(CheckCommandLine, ProvesWhichSaboteursAPolicyCatchesAndNamesThoseThatPass) {
  write("proofhouse.yaml", kProved);
  write("src/numbers_of.py", "def twice(number):\n    return 2 * number\n");
  write("tests/run.py", kProvedTests);
  commit("a project in Python");
  const Ended end = start(tests::program_path("proofhouse"),
                          {"policy", "prove", "--only", "early exit", "--only", "forged report",
                           "--only", "deleted test", "--only", "emptied checks"},
                          false);
  EXPECT_EQ(end.code, 1) << end.output;
  EXPECT_TRUE(holds(end.output, "numbers_of.py: twice")) << end.output;
  EXPECT_TRUE(holds(end.output, "would pass: forged report\n")) << end.output;
  EXPECT_TRUE(holds(end.output, "prove: 3 caught, 1 would pass, 0 unclear, 1 not applicable"))
      << end.output;
}

TEST_F(CheckCommandLine, ProvesNothingOfAHeadThatFailsItsOwnPolicy) {
  write("src/value", "bad");
  commit("broken");
  const Ended end = start(tests::program_path("proofhouse"), {"policy", "prove"}, false);
  EXPECT_EQ(end.code, 3) << end.output;
  EXPECT_TRUE(end.output.empty()) << end.output;
}

}  // namespace
