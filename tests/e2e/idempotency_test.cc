// One key, one task.
#include <future>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

class Key : public ServeFixture {
 protected:
  std::vector<HttpAnswer> post_in_parallel(const std::string& body, const HttpHeaders& headers) {
    std::vector<std::future<HttpAnswer>> posts;
    for (int i = 0; i < 5; ++i)
      posts.push_back(std::async(std::launch::async, [&, body, headers] {
        return server().as("ada").post("/v1/tasks", body, headers);
      }));
    std::vector<HttpAnswer> answers;
    for (std::future<HttpAnswer>& post : posts) answers.push_back(post.get());
    return answers;
  }

  // All five are the same task, the only one there is; its id.
  std::string expect_one_task(const std::vector<HttpAnswer>& answers) {
    std::set<std::string> ids;
    for (const HttpAnswer& answer : answers) {
      EXPECT_EQ(answer.status, 202) << answer.body << answer.error;
      EXPECT_EQ(answer.header("location"), "/v1/tasks/" + answer.at("/id"));
      ids.insert(answer.at("/id"));
    }
    EXPECT_EQ(ids.size(), 1U);
    EXPECT_EQ(server().as("admin").get("/v1/tasks").document().size("/tasks"), 1U);
    return *ids.begin();
  }
};

TEST_F(Key, UsedFiveTimesAtOnceMakesOneTask) {
  TaskBody body;
  body.intent = "verify";
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  const HttpHeaders key{{"Idempotency-Key", "one"}};
  const std::string id = expect_one_task(post_in_parallel(body.json(), key));
  EXPECT_EQ(server().wait_for(id, "done").at("/verdict"), "accepted");

  const HttpAnswer again = server().as("ada").post("/v1/tasks", body.json(), key);
  EXPECT_EQ(again.status, 202);
  EXPECT_EQ(again.at("/id"), id);
  body.title = "Something else";
  const HttpAnswer other = server().as("ada").post("/v1/tasks", body.json(), key);
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.at("/code"), "idempotency_key_reused");
  EXPECT_EQ(server().as("admin").get("/v1/tasks").document().size("/tasks"), 1U);
}

TEST_F(Key, IsDerivedFromTheBodyWhereNoneIsGiven) {
  TaskBody body;
  body.intent = "verify";
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  const std::string id = expect_one_task(post_in_parallel(body.json(), {}));
  EXPECT_EQ(server().wait_for(id, "done").at("/verdict"), "accepted");
  body.title = "Something else";
  EXPECT_NE(server().post(body), id);
  const Document list = server().as("admin").get("/v1/tasks").document();
  EXPECT_EQ(list.size("/tasks"), 2U);
  EXPECT_EQ(server().wait_for(list.at("/tasks/0/id"), "done").at("/verdict"), "accepted");
  EXPECT_EQ(server().wait_for(list.at("/tasks/1/id"), "done").at("/verdict"), "accepted");
}

TEST_F(Key, StandsAfterAKillAndARestart) {
  TaskBody body;
  body.intent = "verify";
  body.patch = sample().patch({{"src/notes.txt", "more\n"}});
  const std::string id = server().post(body, "kept");
  server().kill_serve();
  server().start();
  EXPECT_EQ(server().post(body, "kept"), id);
  EXPECT_EQ(server().wait_for(id, "done").at("/verdict"), "accepted");
}

}  // namespace
}  // namespace tests
