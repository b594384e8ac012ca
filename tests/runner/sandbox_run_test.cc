// `proofhouse sandbox run` and `proofhouse doctor` as a user calls them.

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/support/capability.h"
#include "tests/support/fake_gpus.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

class SandboxRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(root);
    REQUIRE_CAPABILITY(userns);
    REQUIRE_CAPABILITY(overlayfs);
    REQUIRE_CAPABILITY(cgroup);
    REQUIRE_CAPABILITY(seccomp);
    REQUIRE_BUILT(program_path("proofhouse"));
  }

  os::SpawnRequest call(const Words& words) {
    os::SpawnRequest request;
    request.program = program_path("proofhouse");
    request.arguments = {"sandbox", "run"};
    request.arguments.insert(request.arguments.end(), words.begin(), words.end());
    request.environment = {"PATH=/usr/bin:/bin", "TMPDIR=" + temporary_.path()};
    return request;
  }

  os::Captured run(const Words& words) {
    os::Result<os::Captured> captured = os::run_captured(call(words), std::chrono::seconds(60));
    EXPECT_TRUE(captured.has_value()) << captured.error().message;
    // Whatever happened, its directory is gone.
    EXPECT_TRUE(fs::is_empty(temporary_.path()));
    return captured.value_or(os::Captured{});
  }

  int code(const Words& words) { return run(words).status.code; }

  os::TempDir temporary_ = os::TempDir::create("sandbox-run").value();
};

TEST_F(SandboxRun, EndsWithTheCodeOfTheCommand) {
  EXPECT_EQ(code({"true"}), 0);
  EXPECT_EQ(code({"--", "sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(code({"sh", "-c", "kill -SEGV $$"}), 128 + SIGSEGV);
  EXPECT_EQ(code({"--wall", "500ms", "sleep", "30"}), 124);
  EXPECT_EQ(code({"--output", "1000", "yes"}), 137);
  EXPECT_EQ(code({"/no/such/program"}), 125);
  EXPECT_EQ(code({"no-such-program"}), 127);
  EXPECT_EQ(code({"--bogus", "true"}), 2);
  EXPECT_EQ(code({}), 2);
}

TEST_F(SandboxRun, PrintsWhatTheCommandPrintsFromBothEnds) {
  EXPECT_EQ(run({"echo", "a  b"}).output, "a  b\n");
  EXPECT_EQ(run({"--keep", "100", "seq", "1", "1000"}).output.substr(0, 8), "1\n2\n3\n4\n");
  EXPECT_TRUE(run({"--keep", "100", "seq", "1", "1000"}).output.ends_with("999\n1000\n"));
  EXPECT_EQ(run({"--json", "--keep", "100", "seq", "1", "1000"}).status.code, 0);
}

TEST_F(SandboxRun, AnswersOneObjectWhenAskedForJson) {
  const os::Captured captured =
      run({"--json", "--memory", "64M", "sh", "-c", "printf 'x\\377'; exit 3"});
  EXPECT_EQ(captured.status.code, 0);
  const nlohmann::json answer = nlohmann::json::parse(captured.output, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << captured.output;
  EXPECT_EQ(answer["schema"], 1);
  EXPECT_EQ(answer["outcome"], (nlohmann::json{{"kind", "exited"}, {"code", 3}}));
  EXPECT_EQ(answer["limits_hit"], nlohmann::json::array());
  EXPECT_EQ(answer["output"],
            (nlohmann::json{{"head", "x\xef\xbf\xbd"}, {"tail", ""}, {"bytes", 2}}));
  EXPECT_EQ(answer["level"], "full");
  EXPECT_GT(answer["usage"]["memory_peak"].get<std::int64_t>(), 0);
}

TEST_F(SandboxRun, AnswersJsonAlsoWhenNothingCouldRun) {
  const os::Captured captured = run({"--json", "--workspace", "/no/such/place", "true"});
  EXPECT_EQ(captured.status.code, 0);
  const nlohmann::json answer = nlohmann::json::parse(captured.output, nullptr, false);
  EXPECT_EQ(answer["outcome"]["kind"], "setup_failed");
  EXPECT_EQ(answer["outcome"]["errno"], ENOENT);
}

TEST_F(SandboxRun, DropsWhatTheCommandChangesInTheWorkspace) {
  const os::TempDir place = os::TempDir::create("workspace").value();
  ASSERT_TRUE(os::write_file_durably(place / "file", "old", 0644).has_value());
  ::chmod(place.path().c_str(), 0755);
  EXPECT_EQ(
      run({"--workspace", place.path(), "sh", "-c", "cat file; echo new >file; rm -f x; cat file"})
          .output,
      "oldnew\n");
  EXPECT_EQ(os::read_file(place / "file").value(), "old");
}

TEST_F(SandboxRun, CopiesTheWorkspaceOutWhenAsked) {
  const os::TempDir place = os::TempDir::create("out").value();
  const std::string out = place / "result";
  EXPECT_EQ(code({"--out", out, "sh", "-c", "mkdir a; echo made >a/file"}), 0);
  EXPECT_EQ(os::read_file(out + "/a/file").value(), "made\n");
  EXPECT_EQ(code({"--out", out, "true"}), 125);
  EXPECT_EQ(code({"--out", place / "link", "ln", "-s", "/etc/passwd", "link"}), 125);
  EXPECT_FALSE(fs::exists(place / "link/link"));
}

TEST_F(SandboxRun, PassesTheVariablesGivenAndNoneOfOurs) {
  const std::string given = run({"--env", "A=1", "--env", "LANG=C", "env"}).output;
  EXPECT_NE(given.find("A=1\n"), std::string::npos);
  EXPECT_NE(given.find("LANG=C\n"), std::string::npos);
  const std::string output = run({"env"}).output;
  EXPECT_NE(output.find("PATH=/usr/local/bin:/usr/bin:/bin\n"), std::string::npos);
  EXPECT_NE(output.find("TMPDIR=/tmp\n"), std::string::npos);
  EXPECT_NE(output.find("PYTHONHASHSEED=0\n"), std::string::npos);
  const std::string threads = run({"--cpus", "1", "env"}).output;
  EXPECT_NE(threads.find("OMP_NUM_THREADS=1\n"), std::string::npos);
  EXPECT_NE(threads.find("MAKEFLAGS=-j1\n"), std::string::npos);
  EXPECT_EQ(output.find(temporary_.path()), std::string::npos);
}

TEST_F(SandboxRun, IsCancelledByASignalAndLeavesNothing) {
  for (const int number : {SIGINT, SIGTERM}) {
    os::ChildProcess child = os::ChildProcess::spawn(call({"sleep", "60"})).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    ASSERT_TRUE(child.signal(number).has_value());
    EXPECT_EQ(child.wait(std::chrono::seconds(30)).value().code, 130);
    EXPECT_TRUE(fs::is_empty(temporary_.path()));
  }
}

// A server's configuration that names fake GPUs.
std::string configuration(const FakeGpus& gpus) {
  const std::string path = gpus.path() + "/config.yaml";
  EXPECT_TRUE(os::write_file_durably(path,
                                     "gpus:\n  nvml: " + gpus.library() + "\n  cdi: [" +
                                         gpus.cdi() + "]\n  devices: " + gpus.devices() +
                                         "\n  book: " + gpus.book() + "\n  scrub: " + gpus.scrub() +
                                         "\n  burn_in: " + gpus.burn_in() + "\n",
                                     0644)
                  .has_value());
  return path;
}

TEST_F(SandboxRun, LeasesGpusAndCleansThem) {
  const FakeGpus gpus(2);
  const std::string config = configuration(gpus);
  const std::string look = "ls /dev | grep '^nvidia[0-9]'; echo $CUDA_VISIBLE_DEVICES";
  const os::Captured one = run({"--gpu", "1", "--config", config, "sh", "-c", look});
  EXPECT_EQ(one.output, "nvidia0\n" + FakeGpus::uuid(0) + "\n");
  EXPECT_EQ(gpus.scrubs(), 1);
  const os::Captured both = run(
      {"--json", "--gpu=2", "--config", config, "sh", "-c", "ls /dev | grep -c '^nvidia[0-9]'"});
  const nlohmann::json answer = nlohmann::json::parse(both.output, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << both.output;
  EXPECT_EQ(answer["output"]["head"], "2\n");
  EXPECT_EQ(answer["gpus"]["driver"], "999.1");
  EXPECT_EQ(answer["gpus"]["uses"].size(), 2U);
  EXPECT_EQ(gpus.scrubs(), 3);
  EXPECT_EQ(code({"--gpu", "3", "--config", config, "true"}), 125);
  EXPECT_EQ(run({"--config", config, "sh", "-c", "ls /dev | grep -c nvidia"}).output, "0\n");
}

TEST(Doctor, NamesEachGpuAndWhatKeepsItFromService) {
  REQUIRE_CAPABILITY(root);
  REQUIRE_BUILT(program_path("proofhouse"));
  FakeGpus gpus(2);
  os::SpawnRequest request;
  request.program = program_path("proofhouse");
  request.arguments = {"doctor", "--config", configuration(gpus)};
  const std::string seen =
      os::run_captured(request, std::chrono::seconds(60)).value_or(os::Captured{}).output;
  EXPECT_TRUE(seen.contains("2 of 2 GPUs can be leased, driver 999.1")) << seen;
  EXPECT_TRUE(seen.contains(FakeGpus::uuid(1) + " Fake GPU, 81920 MiB: free")) << seen;
  gpus.set("broken", "9");
  const std::string broken =
      os::run_captured(request, std::chrono::seconds(60)).value_or(os::Captured{}).output;
  EXPECT_TRUE(broken.contains("without  gpu")) << broken;
  EXPECT_TRUE(broken.contains("Driver Not Loaded")) << broken;
}

TEST(Doctor, SaysThatThisMachineIsReady) {
  REQUIRE_CAPABILITY(root);
  REQUIRE_CAPABILITY(cgroup);
  REQUIRE_BUILT(program_path("proofhouse"));
  os::SpawnRequest request;
  request.program = program_path("proofhouse");
  request.arguments = {"doctor", "--json"};
  const os::Captured captured = os::run_captured(request, std::chrono::seconds(60)).value();
  const nlohmann::json answer = nlohmann::json::parse(captured.output, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << captured.output;
  EXPECT_EQ(captured.status.code, answer["ready"] == true ? 0 : 1);
  for (const nlohmann::json& feature : answer["features"])
    EXPECT_TRUE(feature["present"] == true || !feature["remedy"].get<std::string>().empty())
        << feature;
}

}  // namespace
}  // namespace tests
