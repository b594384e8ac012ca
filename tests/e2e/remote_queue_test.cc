// Promotions to a repository elsewhere: git's own daemon behind a proxy that cuts pushes off.
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"
#include "tests/support/git_server.h"

namespace tests {
namespace {

class RemoteQueue : public ServeFixture {
 protected:
  void SetUp() override {
    ServeFixture::SetUp();
    if (testing::Test::IsSkipped()) return;
    remote_ = std::make_unique<GitServer>(server().place());
    const HttpAnswer added =
        server().as("admin").post("/v1/projects", object_of({{"name", "far"},
                                                             {"url", remote_->url("sample.git")},
                                                             {"target", "refs/heads/main"},
                                                             {"authority", "remote"}}));
    ASSERT_EQ(added.status, 201) << added.body;
  }
  // A change of a file of its own that waits for its approval.
  std::string waiting(const std::string& name) {
    TaskBody body;
    body.project = "far";
    body.patch = sample().patch({{"src/" + name + ".txt", "new\n"}});
    const std::string id = server().post(body);
    EXPECT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval");
    return id;
  }
  // Lands it while pushes go by this plan, and sees that it is there once.
  Document land(const std::string& name, const std::vector<std::string>& plan) {
    const std::string id = waiting(name);
    const std::string before = sample().tip();
    remote().plan(plan);
    EXPECT_EQ(server().decide("rex", id).status, 200);
    Document task = server().wait_for(id, "done");
    EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("") << server().log();
    EXPECT_EQ(remote().planned(), 0U);
    EXPECT_EQ(task.at("/promotion/new"), sample().tip());
    EXPECT_EQ(task.at("/promotion/old"), sample().tip("^"));
    EXPECT_EQ(task.at("/candidate/tree"), sample().tip("^{tree}"));
    EXPECT_EQ(sample().commits_since(before), plan.empty() || !plan[0].starts_with("race") ? 1 : 2);
    return task;
  }
  GitServer& remote() { return *remote_; }

 private:
  std::unique_ptr<GitServer> remote_;
};

// Two cuts by default, twenty where PROOFHOUSE_QUEUE is `all`.
TEST_F(RemoteQueue, LandsOnceWhereverThePushIsCutOff) {
  land("whole", {});
  const GitServer::Traffic whole = remote().push(0);
  const char* const wide = std::getenv("PROOFHOUSE_QUEUE");
  std::vector<std::string> cuts{"up " + std::to_string(whole.up / 2),
                                "down " + std::to_string(whole.down - 1)};
  if (wide != nullptr && std::string_view(wide) == "all") cuts = spread_cuts(whole, 20);
  int number = 0;
  for (const std::string& cut : cuts) {
    const testing::ScopedTrace trace(__FILE__, __LINE__, cut);
    land("cut" + std::to_string(number++), {cut});
  }
}

TEST_F(RemoteQueue, LosesNothingOfWhoPushesAtTheSameMoment) {
  const std::string theirs = sample().commit({{"src/notes.txt", "theirs\n"}}, "Go past");
  const std::string push = "GIT_CONFIG_GLOBAL=" + server().place() + "/gitconfig git -C " +
                           sample().checkout() + " push -q origin " + theirs + ":refs/heads/main";
  const Document task = land("ours", {"race " + push});
  EXPECT_EQ(sample().tip("^"), theirs);
  EXPECT_EQ(task.size("/attempts"), 2U);
  EXPECT_EQ(task.at("/approvals/given/0/valid"), "true");
}

}  // namespace
}  // namespace tests
