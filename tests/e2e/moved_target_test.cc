// The target moves while a change waits for its approval.
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

class MovedTarget : public ServeFixture {
 protected:
  std::string waiting(const FileEdits& edits) {
    const std::string id = post_change(edits);
    EXPECT_EQ(server().wait_for(id, "awaiting_approval").at("/state"), "awaiting_approval");
    return id;
  }
  void approve(const std::string& id) {
    const HttpAnswer answer = server().decide("rex", id);
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
};

TEST_F(MovedTarget, LandsACleanRebaseOnNewEvidenceWithoutAnotherApproval) {
  const std::string base = sample().tip();
  const std::string first = waiting({{"src/notes.txt", "more\n"}});
  const std::string second = waiting({{"docs/use.txt", "use it\n"}});
  const std::string tested_first = server().task(second).at("/candidate/commit");
  const std::string evidence_first = server().task(second).at("/evidence_sha256");
  approve(first);
  const Document landed = server().wait_for(first, "done");
  ASSERT_EQ(sample().tip(), landed.at("/candidate/commit"));

  approve(second);
  const Document task = server().wait_for(second, "done");
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("");
  EXPECT_EQ(sample().tip(), task.at("/candidate/commit"));
  EXPECT_EQ(sample().tip("^{tree}"), task.at("/candidate/tree"));
  EXPECT_EQ(sample().tip("^"), landed.at("/candidate/commit"));
  EXPECT_EQ(sample().commits_since(base), 2);
  EXPECT_NE(task.at("/candidate/commit"), tested_first);
  EXPECT_NE(task.at("/evidence_sha256"), evidence_first);
  EXPECT_EQ(task.at("/base/commit"), landed.at("/candidate/commit"));
  EXPECT_EQ(task.size("/attempts"), 2U);
  EXPECT_EQ(task.at("/attempts/1/why"), "new tip");
  EXPECT_EQ(task.size("/approvals/given"), 1U);
  EXPECT_EQ(task.at("/approvals/given/0/valid"), "true");
  EXPECT_TRUE(task.at("/promotion/receipt").contains(task.at("/evidence_sha256")));
}

TEST_F(MovedTarget, VoidsTheApprovalOfAChangeThatConflictsNow) {
  const std::string first = waiting({{"src/notes.txt", "more\n"}});
  const std::string second = waiting({{"src/notes.txt", "less\n"}});
  approve(first);
  const Document landed = server().wait_for(first, "done");
  approve(second);
  const Document task = server().wait_for(second, "done");
  EXPECT_EQ(task.at("/verdict"), "rejected") << task.at("");
  EXPECT_EQ(task.at("/failure_class"), "review");
  EXPECT_TRUE(task.at("/reason/text").contains("src/notes.txt")) << task.at("/reason");
  EXPECT_EQ(task.at("/approvals/given/0/valid"), "false");
  EXPECT_FALSE(task.at("/approvals/given/0/void_reason").empty());
  EXPECT_FALSE(task.has("/promotion"));
  EXPECT_EQ(sample().tip(), landed.at("/candidate/commit"));
}

TEST_F(MovedTarget, RebasesOverWhatSomebodyElsePushed) {
  const std::string id = waiting({{"docs/use.txt", "use it\n"}});
  const std::string pushed = sample().advance({{"src/notes.txt", "pushed\n"}});
  approve(id);
  const Document task = server().wait_for(id, "done");
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("");
  EXPECT_EQ(sample().tip("^"), pushed);
  EXPECT_EQ(sample().tip(), task.at("/candidate/commit"));
}

TEST_F(MovedTarget, RejectsARebasedChangeWhoseTestsFailNow) {
  const std::string id = waiting({{"docs/use.txt", "use it\n"}});
  sample().advance({{"src/left.txt", "bad\n"}});
  approve(id);
  const Document task = server().wait_for(id, "done");
  // The base itself fails now: nobody blames the change, and nothing lands.
  EXPECT_EQ(task.at("/verdict"), "error") << task.at("");
  EXPECT_EQ(task.at("/failure_class"), "base");
  EXPECT_NE(sample().tip(), task.at("/candidate/commit"));
}

}  // namespace
}  // namespace tests
