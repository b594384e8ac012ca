// Another policy on the kept evidence of a project's tasks.
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

class Backtest : public ServeFixture {
 protected:
  std::string verify(const FileEdits& edits) {
    TaskBody body;
    body.intent = "verify";
    body.patch = sample().patch(edits);
    return server().post(body);
  }

  // The sample's policy with one text in place of another.
  std::string policy_with(const std::string& text, const std::string& other) {
    std::string policy = os::read_file(sample().checkout() + "/proofhouse.yaml").value_or("");
    const std::size_t at = policy.find(text);
    EXPECT_NE(at, std::string::npos) << policy;
    return at == std::string::npos ? policy : policy.replace(at, text.size(), other);
  }

  HttpAnswer backtest(const std::string& as, const std::string& policy) {
    return server().as(as).post("/v1/projects/sample/backtest", object_of({{"policy", policy}}));
  }

  // "rejected->accepted tests" of each task: verdicts and gate.
  std::string row_of(const Document& answer, const std::string& task) const {
    const std::string at = answer.find("/tasks", "task", task);
    return answer.at(at + "/was") + "->" + answer.at(at + "/now") + " " + answer.at(at + "/gate");
  }
};

TEST_F(Backtest, ListsExactlyTheTasksThatAnotherPolicyDecidesOtherwise) {
  const std::string small = verify({{"docs/a.txt", "1\n2\n"}});
  const std::string large = verify({{"docs/a.txt", "1\n2\n3\n4\n"}});
  const std::string wrong = verify({{"src/left.txt", "bad\n"}});
  for (const std::string& id : {small, large, wrong}) server().wait_for(id, "done");

  const HttpAnswer stricter = backtest("olga", policy_with("max_lines: 100", "max_lines: 3"));
  ASSERT_EQ(stricter.status, 200) << stricter.body;
  const Document strict = stricter.document();
  ASSERT_EQ(strict.size("/tasks"), 3U) << stricter.body;
  EXPECT_EQ(row_of(strict, small), "accepted->accepted ");
  EXPECT_EQ(row_of(strict, large), "accepted->rejected size");
  EXPECT_EQ(row_of(strict, wrong), "rejected->rejected tests");

  // Without the gate that refused it, the wrong one would have passed; the others as before.
  const HttpAnswer laxer =
      backtest("olga", policy_with("  tests: {kind: tests, steps: [test]}\n", ""));
  ASSERT_EQ(laxer.status, 200) << laxer.body;
  EXPECT_EQ(row_of(laxer.document(), wrong), "rejected->accepted ");
  EXPECT_EQ(row_of(laxer.document(), small), "accepted->accepted ");

  // Evidence says nothing of steps that ran differently, nor of files that were not guarded then.
  for (const auto& [text, other, words] :
       {std::tuple{"sh checks/run.sh", "sh checks/run.sh --all", "step test would run differently"},
        std::tuple{"docs/**]", "doc/**]", "docs/a.txt would be guarded"}}) {
    const HttpAnswer answer = backtest("olga", policy_with(text, other));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::string at = answer.document().find("/tasks", "task", small);
    EXPECT_TRUE(answer.at(at + "/words").contains(words)) << answer.body;
    EXPECT_EQ(answer.at(at + "/now"), "");
  }
}

TEST_F(Backtest, IsForOwnersAndSaysWhereAPolicyIsWrong) {
  const std::string policy = policy_with("max_lines: 100", "max_lines: 3");
  EXPECT_EQ(backtest("ada", policy).status, 403);
  EXPECT_EQ(backtest("rex", policy).status, 403);
  EXPECT_EQ(backtest("eve", policy).status, 404);
  const HttpAnswer wrong = backtest("olga", policy_with("max_lines", "max_linez"));
  EXPECT_EQ(wrong.status, 422) << wrong.body;
  EXPECT_TRUE(wrong.body.contains("max_linez")) << wrong.body;
  EXPECT_EQ(backtest("olga", "").status, 422);
}

}  // namespace
}  // namespace tests
