// What the API refuses, and with which words.
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

constexpr const char* kGpuPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 128MiB, disk: 32MiB, total: 30m}
steps:
  train: {run: "true", gpu: {count: 1, min_memory: 20GiB}, report: {tap: report.tap}}
gates:
  tests: {kind: tests, steps: [train]}
)";

class Refusal : public ServeFixture {
 protected:
  HttpAnswer post(const std::string& body) { return server().as("ada").post("/v1/tasks", body); }
  // A task that waits for its approval; cancelled at the end of the test.
  std::string waiting() {
    const std::string id = post_change({{"src/notes.txt", "more\n"}});
    EXPECT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval");
    return id;
  }
};

TEST_F(Refusal, OfAPatchThatDoesNotApplyShowsTheHunk) {
  TaskBody body;
  body.patch = sample().patch({{"src/left.txt", "bad\n"}});
  sample().advance({{"src/left.txt", "other\n"}});
  const HttpAnswer answer = post(body.json());
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_EQ(answer.at("/code"), "patch_conflict");
  EXPECT_EQ(answer.header("content-type"), "application/problem+json");
  EXPECT_EQ(answer.at("/path"), "src/left.txt");
  EXPECT_TRUE(answer.at("/hunk").contains("@@ -1 +1 @@") && answer.at("/hunk").contains("other"))
      << answer.body;
  EXPECT_FALSE(answer.at("/next_step").empty());
}

TEST_F(Refusal, NamesTheFieldByAPointer) {
  const HttpAnswer unknown =
      post(R"({"project":"sample","change":{"patch":"x","colour":"red"},"intent":"verify"})");
  EXPECT_EQ(unknown.status, 422) << unknown.body;
  EXPECT_EQ(unknown.at("/code"), "invalid_field");
  EXPECT_EQ(unknown.at("/errors/0/pointer"), "/change/colour");
  const HttpAnswer wrong = post(R"({"project":"sample","change":{"patch":"x"},"intent":"land"})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.at("/errors/0/pointer"), "/intent");
  const HttpAnswer later =
      post(R"({"project":"sample","change":{"patch":"x"},"claims":{"faster":{"speed":"much"}}})");
  EXPECT_EQ(later.status, 422);
  EXPECT_EQ(later.at("/errors/0/pointer"), "/claims/faster") << later.body;
  EXPECT_EQ(post("{").status, 400);
  EXPECT_EQ(post("{").at("/code"), "bad_json");
}

TEST_F(Refusal, OfAPatchThatIsNone) {
  TaskBody body;
  body.patch = "hello\n";
  const HttpAnswer answer = post(body.json());
  EXPECT_EQ(answer.status, 422) << answer.body;
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  body.base = "0123456789012345678901234567890123456789";
  EXPECT_EQ(post(body.json()).status, 409);
  body = {};
  body.commit = "0123456789012345678901234567890123456789";
  const HttpAnswer unknown = post(body.json());
  EXPECT_EQ(unknown.status, 422) << unknown.body;
  EXPECT_EQ(unknown.at("/code"), "commit_not_found");
}

TEST_F(Refusal, OfADecisionOnSomethingElseThanWhatIsThere) {
  const std::string id = waiting();
  const HttpClient rex = server().as("rex");
  const std::string path = "/v1/tasks/" + id + "/approvals";
  const HttpAnswer seen = rex.get("/v1/tasks/" + id);
  const std::string commit = seen.at("/candidate/commit");
  const std::string approve = object_of({{"decision", "approve"}, {"commit", commit}});

  const HttpAnswer unseen = rex.post(path, approve);
  EXPECT_EQ(unseen.status, 428);
  EXPECT_EQ(unseen.at("/code"), "if_match_missing");
  const HttpAnswer stale = rex.post(path, approve, {{"If-Match", "\"0123456789abcdef\""}});
  EXPECT_EQ(stale.status, 412);
  EXPECT_EQ(stale.at("/code"), "etag_mismatch");
  const HttpAnswer other =
      rex.post(path, object_of({{"decision", "approve"}, {"commit", std::string(40, 'a')}}),
               {{"If-Match", seen.header("etag")}});
  EXPECT_EQ(other.status, 412);
  const HttpAnswer silent = rex.post(path, object_of({{"decision", "refuse"}, {"commit", commit}}),
                                     {{"If-Match", seen.header("etag")}});
  EXPECT_EQ(silent.status, 422);
  EXPECT_EQ(silent.at("/errors/0/pointer"), "/reason");
  EXPECT_EQ(server().task(id).at("/state"), "awaiting_approval");
  EXPECT_EQ(server().as("ada").remove("/v1/tasks/" + id).at("/verdict"), "cancelled");
}

TEST_F(Refusal, OfAStepThatNeedsAGpuSaysWhatIsMissing) {
  if (server().as("ada").get("/v1/machines").body.contains("GPU-"))
    GTEST_SKIP() << "this machine has a GPU";
  server().add_project("trainer", kGpuPolicy);
  TaskBody body;
  body.project = "trainer";
  body.intent = "verify";
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  const HttpAnswer answer = post(body.json());
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_EQ(answer.at("/code"), "unsatisfiable");
  EXPECT_TRUE(answer.at("/detail").contains("train")) << answer.body;
  EXPECT_TRUE(answer.at("/detail").contains("GPU")) << answer.body;
}

TEST_F(Refusal, OfWhoeverHasNoRight) {
  const std::string id = waiting();
  TaskBody body;
  body.intent = "run";
  EXPECT_EQ(server().as("").get("/v1/tasks").status, 401);
  EXPECT_EQ(server().as("").post("/v1/tasks", body.json()).status, 401);
  EXPECT_EQ(HttpClient(server().url(), "wrong").get("/v1/tasks").status, 401);
  EXPECT_EQ(server().as("rex").post("/v1/tasks", body.json()).status, 403);
  EXPECT_EQ(server().as("ada").post("/v1/principals", R"({"name":"mallory"})").status, 403);
  EXPECT_EQ(
      server().as("ada").post("/v1/projects", R"({"name":"x","target":"refs/heads/m"})").status,
      403);
  // What one may not see is not there.
  EXPECT_EQ(server().as("eve").get("/v1/tasks/" + id).status, 404);
  EXPECT_EQ(server().as("eve").remove("/v1/tasks/" + id).status, 404);
  EXPECT_EQ(server().as("eve").post("/v1/tasks", body.json()).status, 404);
  EXPECT_EQ(server().as("eve").get("/v1/tasks").document().size("/tasks"), 0U);
  EXPECT_EQ(server().as("ada").get("/v1/tasks/t_nothing").status, 404);
  EXPECT_EQ(server().as("ada").get("/v1/nothing").status, 404);
  EXPECT_EQ(server().as("").get("/healthz").status, 200);
  EXPECT_EQ(server().as("ada").remove("/v1/tasks/" + id).status, 200);
}

}  // namespace
}  // namespace tests
