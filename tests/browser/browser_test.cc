// Chromium as a reviewer: logs in with a code, reads, decides, watches the landing; with script and
// without; on pages that a change tries to attack. tests/browser/walk.py has the steps.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/e2e/serve_fixture.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

constexpr std::chrono::seconds kWalk{240};

// A benchmark of shell: its figures are made up, its pairs are real.
constexpr const char* kMeasured = R"(version: 1
subject: [src/**, docs/**]
limits: {cpus: 1, memory: 128MiB, disk: 32MiB, wall: 90s, total: 5m}
steps:
  test:
    run: "sh src/test.sh"
    report: {tap: report.tap}
  bench:
    run: |
      n=$(date +%N | cut -c 5-7 | sed 's/^0*//')
      t=$((2000 + ${n:-0} / 10))
      { printf '{"context":{},"benchmarks":[{"name":"BM_Words","run_name":"BM_Words",'
        printf '"run_type":"iteration","repetitions":1,"repetition_index":0,"threads":1,'
        printf '"iterations":10,"real_time":%d,"cpu_time":%d,"time_unit":"ns"}]}' $t $t
      } > bench.json
    report: {google-benchmark: bench.json}
gates:
  tests: {kind: tests, steps: [test]}
  speed: {kind: benchmark, step: bench, tolerance: 20%, inconclusive: pass}
  size: {kind: diff, max_lines: 2000}
promotion: {approvals: 1, override: owners}
)";

// Prints a log with what would act on a terminal or a page, and two tests with such names.
constexpr const char* kTests = R"sh(printf 'plain\n\033[32mgreen\033[0m \033]0;title\007\n'
printf '<img src=x onerror=hit()>\n'
printf '\342\200\256bidi\n'
printf 'TAP version 13\n1..2\nok 1 - Words.keep\nok 2 - <script>hit()</script>\n' > report.tap
)sh";

class Browser : public ServeFixture {
 protected:
  void SetUp() override {
    REQUIRE_CAPABILITY(chromium);
    if (!std::filesystem::exists(PROOFHOUSE_AXE))
      GTEST_SKIP() << "axe-core is missing: ./dev test -L browser fetches it";
    ServeFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    sample().advance({{"src/test.sh", kTests}});
    server().add_project("measured", kMeasured);
    EXPECT_EQ(server()
                  .as("admin")
                  .post("/v1/grants", R"({"principal":"rex","project":"measured","role":"owner"})")
                  .status,
              201);
  }

  std::string post(const std::string& title, const FileEdits& edits) {
    TaskBody body;
    body.project = "measured";
    body.title = title;
    body.patch = sample().patch(edits);
    return server().post(body);
  }

  // The second owner's word, from a terminal.
  void override_too(const std::string& name, const std::string& id) {
    const Document task = server().task(id);
    std::vector<std::string> arguments{
        "approve", id, "--commit", task.at("/candidate/commit"), "--reason", "The check is wrong.",
        "--yes"};
    for (const std::string& gate : task.texts("/overridable")) {
      arguments.emplace_back("--override");
      arguments.push_back(gate);
    }
    const CommandEnd end = server().run(name, arguments);
    EXPECT_EQ(end.code, 0) << end.output;
  }

  // A code as a person gets it.
  std::string code(const std::string& name) {
    const CommandEnd end = server().run(name, {"login"});
    EXPECT_EQ(end.code, 0) << end.output;
    return end.output.substr(0, end.output.find('\n'));
  }
};

TEST_F(Browser, WalksAsAReviewerAndIsNotToBeAttacked) {
  std::string many;
  for (int i = 0; i < 60; ++i) many += "further text " + std::to_string(i) + "\n";
  const std::string approve =
      post("Reorder the notes", {{"src/notes.txt", "line one\nline 2\nline  3\nline 4\n" + many}});
  const std::string refuse = post("Shorten the notes", {{"src/notes.txt", "short\n"}});
  const std::string plain = post("Say more", {{"docs/more.txt", "more\n"}});
  const std::string guarded =
      post("<img src=x onerror=hit()> \"title'", {{"src/<svg onload=hit()>.txt", "<b>bold</b>\n"},
                                                  {"checks/<script>hit()</script>.sh", "\n"},
                                                  {"src/bidi.txt", "a \u202e b \x1b[31m\n"}});
  const std::string failing =
      post("Break a check",
           {{"src/test.sh",
             "printf 'TAP version 13\\n1..1\\nnot ok 1 - Words.keep\\n' > report.tap\n"}});
  ASSERT_EQ(server().wait_for(failing, "done").at("/verdict"), "rejected");
  for (const std::string& id : {approve, refuse, plain, guarded})
    ASSERT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval")
        << server().task(id).at("/reason");

  std::filesystem::create_directories(PROOFHOUSE_SCREENSHOTS);
  os::SpawnRequest request;
  request.program = "python3";
  request.arguments = {source_dir() / "tests/browser/walk.py",
                       "--url=" + server().url(),
                       "--code=" + code("rex"),
                       "--plain-code=" + code("rex"),
                       "--approve=" + approve,
                       "--refuse=" + refuse,
                       "--plain=" + plain,
                       "--hostile=" + guarded,
                       "--failing=" + failing,
                       "--axe=" PROOFHOUSE_AXE,
                       "--screenshots=" PROOFHOUSE_SCREENSHOTS,
                       "--home=" + server().place()};
  request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + server().place()};
  request.directory = "/";
  request.search_path = true;
  const os::Result<os::Captured> done = os::run_captured(request, kWalk);
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->status.code, 0) << done->output;

  EXPECT_EQ(server().wait_for(approve, "done").at("/promotion/new"),
            server().task(approve).at("/candidate/commit"));
  EXPECT_EQ(server().wait_for(refuse, "done").at("/failure_class"), "review");
  EXPECT_EQ(server().wait_for(plain, "done").at("/verdict"), "accepted");
  EXPECT_EQ(server().task(failing).at("/state"), "awaiting_approval");
  override_too("olga", failing);
  EXPECT_NE(server().wait_for(failing, "done").at("/promotion/new"), "");
  // Nothing waits when the server is looked over.
  EXPECT_EQ(server().decide("olga", guarded, "refuse").status, 200);
}

}  // namespace
}  // namespace tests
