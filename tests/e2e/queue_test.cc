// The promotion queue: several approved changes of one project.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

// Fits as long as one of two files is missing.
constexpr const char* kPairPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 128MiB, disk: 32MiB, wall: 90s, idle: 90s, total: 5m}
steps:
  test:
    run: |
      printf 'TAP version 13\n1..2\nok 1 - Pair.alone\n' > report.tap
      if [ -e src/plug.txt ] && [ -e src/socket.txt ]; then
        echo 'not ok 2 - Pair.fits' >> report.tap
        exit 1
      fi
      echo 'ok 2 - Pair.fits' >> report.tap
    report: {tap: report.tap}
gates:
  tests: {kind: tests, steps: [test]}
promotion: {approvals: 1, strategy: rebase, approval: RULE}
)";

std::string pair_policy(const std::string& rule) {
  std::string policy = kPairPolicy;
  return policy.replace(policy.find("RULE"), 4, rule);
}

// `PROOFHOUSE_QUEUE=all`, as `./dev test -L queue` sets it.
bool is_wide() {
  const char* const wide = std::getenv("PROOFHOUSE_QUEUE");
  return wide != nullptr && std::string_view(wide) == "all";
}

class Queue : public ServeFixture {
 protected:
  std::string post(const std::string& project, const FileEdits& edits) {
    TaskBody body;
    body.project = project;
    body.patch = sample().patch(edits);
    return server().post(body);
  }
  // Posts a change a file, waits until all wait for an approval, approves them all.
  std::vector<std::string> approved(const std::string& project, int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) {
      const std::string name = "src/part" + std::to_string(i) + ".txt";
      ids.push_back(post(project, {{name, "part\n"}}));
    }
    for (const std::string& id : ids)
      EXPECT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval");
    for (const std::string& id : ids) approve(id);
    return ids;
  }
  // Somebody else's push; git refuses it as long as something lands in between.
  void push_past() {
    constexpr int kTries = 20;
    for (int i = 0; i < kTries; ++i) {
      try {
        sample().advance({{"src/notes.txt", "pushed\n"}});
        return;
      } catch (const std::runtime_error&) {
        continue;
      }
    }
    FAIL() << "no push went through";
  }
  void approve(const std::string& id) {
    const HttpAnswer answer = server().decide("rex", id);
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
};

TEST_F(Queue, RefusesTheSecondOfTwoThatBreakTogether) {
  server().add_project("pair", pair_policy("clean-rebase"));
  const std::string first = post("pair", {{"src/plug.txt", "plug\n"}});
  const std::string second = post("pair", {{"src/socket.txt", "socket\n"}});
  for (const std::string& id : {first, second}) {
    const Document task = server().wait_for(id, "awaiting_approval");
    ASSERT_EQ(task.at("/verdict"), "accepted") << task.at("");
  }
  approve(first);
  approve(second);
  const Document landed = server().wait_for(first, "done");
  EXPECT_EQ(landed.at("/verdict"), "accepted") << landed.at("");
  const Document refused = server().wait_for(second, "done");
  EXPECT_EQ(refused.at("/verdict"), "rejected") << refused.at("");
  EXPECT_EQ(refused.at("/failure_class"), "test");
  EXPECT_TRUE(refused.at("/reason/text").contains("Pair.fits")) << refused.at("/reason");
  EXPECT_EQ(refused.at("/base/commit"), landed.at("/candidate/commit"));
  EXPECT_FALSE(refused.has("/promotion"));
  EXPECT_EQ(refused.at("/approvals/given/0/valid"), "false") << refused.at("/approvals");
  EXPECT_EQ(sample().tip(), landed.at("/candidate/commit"));
}

TEST_F(Queue, LandsManyApprovedChangesOnABusyBranchWithoutAnotherApproval) {
  const std::string base = sample().tip();
  const int count = is_wide() ? 10 : 4;
  const std::vector<std::string> ids = approved("sample", count);
  // While they land, somebody else pushes.
  server().wait_for(ids[0], "done");
  push_past();
  for (const std::string& id : ids) {
    const Document task = server().wait_for(id, "done");
    EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("");
    EXPECT_EQ(task.size("/approvals/given"), 1U);
    EXPECT_EQ(task.at("/approvals/given/0/valid"), "true");
    EXPECT_EQ(task.at("/promotion/new"), task.at("/candidate/commit"));
    EXPECT_TRUE(task.at("/promotion/receipt").contains(task.at("/evidence_sha256")));
    // Tested again once, not once for each that landed before it; and again for the push at most.
    EXPECT_LE(task.size("/attempts"), 3U) << task.at("/attempts");
  }
  EXPECT_EQ(sample().commits_since(base), count + 1);
}

TEST_F(Queue, VoidsEachApprovalOfAnExactCommitOnceTheTargetMoved) {
  server().add_project("exact", pair_policy("exact"));
  const std::vector<std::string> ids = approved("exact", 3);
  const Document landed = server().wait_for(ids[0], "done");
  EXPECT_EQ(landed.at("/verdict"), "accepted") << landed.at("");
  for (const std::string& id : {ids[1], ids[2]}) {
    Document task;
    EXPECT_TRUE(wait_until([&] {
      task = server().task(id);
      return task.at("/state") == "awaiting_approval" && task.size("/attempts") == 2;
    })) << task.at("");
    EXPECT_EQ(task.at("/verdict"), "accepted");
    EXPECT_EQ(task.at("/approvals/given/0/valid"), "false");
    EXPECT_TRUE(task.at("/approvals/given/0/void_reason").contains("exact commit"))
        << task.at("/approvals");
    EXPECT_EQ(task.at("/base/commit"), landed.at("/candidate/commit"));
  }
  EXPECT_EQ(sample().tip(), landed.at("/candidate/commit"));
  for (const std::string& id : {ids[1], ids[2]})
    EXPECT_EQ(server().decide("rex", id, "refuse").status, 200);
}

TEST_F(Queue, LandsNothingWhileTheProjectIsFrozen) {
  const std::string tip = sample().tip();
  const std::string id = post("sample", {{"src/notes.txt", "more\n"}});
  server().wait_for(id, "awaiting_approval");
  const CommandEnd frozen =
      server().run("olga", {"project", "freeze", "sample", "--reason", "tidying up"});
  EXPECT_EQ(frozen.code, 0) << frozen.output;
  approve(id);
  const CommandEnd why = server().run("olga", {"why", id});
  EXPECT_TRUE(why.output.contains("tidying up (by olga)")) << why.output;
  EXPECT_EQ(sample().tip(), tip);
  EXPECT_EQ(server().run("ada", {"project", "unfreeze", "sample"}).code, 4);
  EXPECT_EQ(server().run("olga", {"project", "unfreeze", "sample"}).code, 0);
  EXPECT_EQ(server().wait_for(id, "done").at("/verdict"), "accepted");
}

}  // namespace
}  // namespace tests
