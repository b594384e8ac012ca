// The way of a task from its POST to its verdict and to the branch, over HTTP.
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

class Task : public ServeFixture {};

TEST_F(Task, VerifiedIsAcceptedAndLandsNothing) {
  const std::string before = sample().tip();
  TaskBody body;
  body.intent = "verify";
  body.title = "Say more";
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  const Document task = server().wait_for(server().post(body), "done");

  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("");
  EXPECT_EQ(task.at("/assurance"), "in-process");
  EXPECT_EQ(task.at("/gates/0/name"), "tests");
  EXPECT_EQ(task.at("/gates/0/status"), "passed");
  EXPECT_EQ(task.at("/gates/1/status"), "passed");
  EXPECT_EQ(task.at("/sandbox_level"), "full");
  EXPECT_EQ(task.size("/guarded"), 0U);
  EXPECT_FALSE(task.has("/promotion"));
  EXPECT_EQ(sample().tip(), before);
}

TEST_F(Task, PromotedIsTheVeryCommitThatWasTested) {
  const std::string before = sample().tip();
  const std::string id = post_change({{"src/notes.txt", "more\n"}});
  Document task = server().wait_for(id, "awaiting_approval");
  ASSERT_EQ(task.at("/state"), "awaiting_approval") << task.at("");
  EXPECT_EQ(task.at("/verdict"), "accepted");
  EXPECT_EQ(sample().tip(), before) << "landed before its approval";

  // Its own author, whoever the author owns, who has no role, and who configures: none of them.
  EXPECT_EQ(server().decide("ada", id).status, 403);
  const HttpAnswer own = server().decide("ada2", id);
  EXPECT_EQ(own.status, 403);
  EXPECT_EQ(own.at("/code"), "self_approval");
  EXPECT_EQ(server().decide("admin", id).status, 403);
  EXPECT_EQ(server().decide("eve", id).status, 404);
  EXPECT_EQ(server().task(id).at("/state"), "awaiting_approval");

  const HttpAnswer approved = server().decide("rex", id);
  EXPECT_EQ(approved.status, 200) << approved.body;
  task = server().wait_for(id, "done");
  const std::string candidate = task.at("/candidate/commit");
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("");
  EXPECT_EQ(sample().tip(), candidate);
  EXPECT_EQ(sample().tip("^{tree}"), task.at("/candidate/tree"));
  EXPECT_EQ(sample().tip("^"), before);
  EXPECT_EQ(task.at("/promotion/old"), before);
  EXPECT_EQ(task.at("/promotion/new"), candidate);
  EXPECT_TRUE(task.at("/promotion/receipt").contains(candidate));
  EXPECT_TRUE(task.at("/promotion/receipt").contains("rex"));
  EXPECT_EQ(task.at("/approvals/given/0/by"), "rex");
}

TEST_F(Task, RejectedNamesTheTestAndItsMessage) {
  const std::string before = sample().tip();
  const std::string id = post_change({{"src/left.txt", "bad\n"}});
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "rejected");
  EXPECT_EQ(task.at("/failure_class"), "test");
  EXPECT_TRUE(task.at("/reason").contains("Words.left")) << task.at("/reason");
  EXPECT_TRUE(task.at("/reason").contains("left is not good")) << task.at("/reason");
  EXPECT_FALSE(task.at("/reason").contains("Words.right")) << task.at("/reason");
  EXPECT_EQ(task.at("/gates/0/status"), "failed");
  EXPECT_EQ(sample().tip(), before);
  const HttpAnswer late = server().decide("rex", id);
  EXPECT_EQ(late.status, 409) << late.body;
  EXPECT_EQ(late.at("/code"), "wrong_state");
  EXPECT_EQ(server().as("ada").get("/v1/tasks/" + id + "/why").at("/state"), "done");
}

TEST_F(Task, TouchingGuardedFilesWaitsForAnOwner) {
  const std::string id = post_change({{"README.md", "A sample.\n"}});
  Document task = server().wait_for(id, "awaiting_approval");
  ASSERT_EQ(task.at("/state"), "awaiting_approval") << task.at("");
  EXPECT_EQ(task.at("/guarded"), "[\"README.md\"]");
  EXPECT_EQ(task.number("/approvals/owners_needed"), 1);

  EXPECT_EQ(server().decide("rex", id).status, 200);
  EXPECT_EQ(server().task(id).at("/state"), "awaiting_approval") << "a reviewer is no owner";
  EXPECT_TRUE(server().as("ada").get("/v1/tasks/" + id + "/why").at("/text").contains("owner"));
  EXPECT_EQ(server().decide("olga", id).status, 200);
  task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "accepted");
  EXPECT_EQ(sample().tip(), task.at("/candidate/commit"));
}

TEST_F(Task, RefusedByAReviewerIsRejectedWithTheReason) {
  const std::string before = sample().tip();
  const std::string id = post_change({{"src/notes.txt", "more\n"}});
  ASSERT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval");
  EXPECT_EQ(server().decide("rex", id, "refuse").status, 200);
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "rejected");
  EXPECT_EQ(task.at("/failure_class"), "review");
  EXPECT_TRUE(task.at("/reason").contains("not now"));
  EXPECT_EQ(sample().tip(), before);
}

TEST_F(Task, WithTheIntentRunRunsStepsAndJudgesNothing) {
  TaskBody body;
  body.intent = "run";
  body.steps = {"build"};
  const Document task = server().wait_for(server().post(body), "done");
  EXPECT_EQ(task.at("/verdict"), "ran") << task.at("");
  EXPECT_EQ(task.at("/failure_class"), "");

  body.steps = {"test"};
  body.patch = sample().patch({{"src/right.txt", "bad\n"}});
  const Document failed = server().wait_for(server().post(body), "done");
  EXPECT_EQ(failed.at("/verdict"), "ran") << failed.at("");
}

TEST_F(Task, ShowsItsLogReportDiffAndEvents) {
  const std::string id = post_change({{"src/left.txt", "bad\n"}});
  server().wait_for(id, "done");
  const HttpClient ada = server().as("ada");
  const HttpAnswer log = ada.get("/v1/tasks/" + id + "/logs/test");
  EXPECT_EQ(log.status, 200);
  EXPECT_EQ(log.body, "checking 2 words\nWords.left failed\n");
  EXPECT_EQ(log.header("x-log-total"), std::to_string(log.body.size()));
  EXPECT_EQ(log.header("x-log-finished"), "1");
  EXPECT_EQ(ada.get("/v1/tasks/" + id + "/logs/test?offset=17").body, "Words.left failed\n");
  EXPECT_EQ(ada.get("/v1/tasks/" + id + "/logs/none").status, 404);

  const HttpAnswer markdown = ada.get("/v1/tasks/" + id + "/report.md");
  EXPECT_EQ(markdown.status, 200);
  EXPECT_TRUE(markdown.body.contains("rejected")) << markdown.body;
  EXPECT_TRUE(markdown.body.contains("Words.left")) << markdown.body;
  const HttpAnswer report = ada.get("/v1/tasks/" + id + "/report.json");
  EXPECT_EQ(report.status, 200);
  EXPECT_TRUE(report.body.contains("left is not good")) << report.body;
  const HttpAnswer diff = ada.get("/v1/tasks/" + id + "/diff");
  EXPECT_EQ(diff.status, 200);
  EXPECT_TRUE(diff.body.contains("+bad")) << diff.body;
  EXPECT_TRUE(diff.header("content-disposition").starts_with("attachment"));
}

TEST_F(Task, StreamsEveryEventOnceWhereverAReaderResumes) {
  const std::string id = post_change({{"src/left.txt", "bad\n"}});
  const std::string path = "/v1/tasks/" + id + "/events";
  // A reader that breaks off after each event, from the first moment on.
  std::vector<StreamEvent> pieces;
  bool has_ended = false;
  while (!has_ended && pieces.size() < 1000) {
    const std::string last = pieces.empty() ? std::string() : pieces.back().id;
    server().as("ada").events(path, last, [&](const StreamEvent& event) {
      has_ended = event.type == "end";
      if (!has_ended) pieces.push_back(event);
      return false;
    });
  }
  const std::vector<StreamEvent> whole = server().events(id);
  ASSERT_GT(whole.size(), 5U);
  ASSERT_EQ(pieces.size(), whole.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(pieces[i].id, whole[i].id);
    EXPECT_EQ(pieces[i].data, whole[i].data);
    EXPECT_LT(i == 0 ? 0 : std::stol(whole[i - 1].id), std::stol(whole[i].id));
  }
  EXPECT_EQ(server().as("eve").get(path).status, 404);
}

TEST_F(Task, CancelledWhileItRunsStopsItsSteps) {
  TaskBody body;
  body.intent = "run";
  body.steps = {"hold"};
  const std::string id = server().post(body);
  ASSERT_TRUE(wait_until([&] {
    return server().as("ada").get("/v1/tasks/" + id + "/logs/hold").body == "holding\n";
  })) << server().log();
  EXPECT_EQ(server().task(id).at("/state"), "running");
  EXPECT_EQ(server().as("rex").remove("/v1/tasks/" + id).status, 403);
  EXPECT_EQ(server().as("ada").remove("/v1/tasks/" + id).status, 200);
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "cancelled");
  EXPECT_EQ(server().as("ada").remove("/v1/tasks/" + id).at("/verdict"), "cancelled");
}

TEST_F(Task, CancelledWhileItWaitsNeverStarts) {
  const long cpus = server().as("ada").get("/v1/machines").document().number("/machines/0/cpus");
  ASSERT_GT(cpus, 0);
  TaskBody body;
  body.intent = "run";
  body.steps = {"hold"};
  std::vector<std::string> holding;
  for (long i = 0; i < cpus; ++i) {
    body.title = "Hold CPU " + std::to_string(i);
    holding.push_back(server().post(body));
  }
  body.title = "Wait";
  const std::string id = server().post(body);
  for (const std::string& each : holding)
    EXPECT_EQ(server().wait_for(each, "running").at("/state"), "running");
  EXPECT_EQ(server().task(id).at("/state"), "queued");
  EXPECT_EQ(server().as("ada").get("/v1/tasks/" + id + "/why").at("/state"), "resources");
  EXPECT_EQ(server().as("ada").remove("/v1/tasks/" + id).at("/verdict"), "cancelled");
  EXPECT_EQ(server().task(id).size("/attempts"), 0U);
  for (const std::string& each : holding) server().as("ada").remove("/v1/tasks/" + each);
  for (const std::string& each : holding)
    EXPECT_EQ(server().wait_for(each, "done").at("/verdict"), "cancelled");
}

TEST_F(Task, OfAPostedCommitKeepsItsId) {
  const std::string commit = sample().commit({{"src/notes.txt", "more\n"}}, "Say more");
  const CommandEnd posted =
      server().run("ada", {"submit", "--project", "sample", "--commit", commit, "--json"});
  ASSERT_EQ(posted.code, 0) << posted.output;
  const std::string id = Document(posted.output).at("/id");
  Document task = server().wait_for(id, "awaiting_approval");
  ASSERT_EQ(task.at("/state"), "awaiting_approval") << task.at("");
  EXPECT_EQ(task.at("/candidate/commit"), commit);
  const CommandEnd approved = server().run("rex", {"approve", id, "--commit", commit, "--yes"});
  EXPECT_EQ(approved.code, 0) << approved.output;
  const CommandEnd waited = server().run("ada", {"wait", id});
  EXPECT_EQ(waited.code, 0) << waited.output;
  EXPECT_EQ(sample().tip(), commit);
}

}  // namespace
}  // namespace tests
