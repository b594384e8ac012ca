// Statements and audit log as an operator and a stranger with a clone verify them.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

class Proofs : public ServeFixture {
 protected:
  std::string place(const std::string& name) { return server().place() + "/" + name; }
  void keep(const std::string& name, const std::string& text) {
    std::ofstream(place(name)) << text;
  }
  std::string land() {
    const std::string id = post_change({{"src/notes.txt", "more\n"}});
    server().wait_for(id, "awaiting_approval");
    EXPECT_EQ(server().decide("rex", id).status, 200);
    const Document task = server().wait_for(id, "done");
    EXPECT_EQ(task.at("/promotion/new"), sample().tip()) << task.at("");
    EXPECT_TRUE(task.at("/reason/next_step").starts_with("nothing")) << task.at("/reason");
    return id;
  }
  // `proofhouse attest verify` in the clone, which knows no server; the answer as JSON.
  CommandEnd verify(const std::vector<std::string>& more) {
    std::vector<std::string> words{"attest", "verify", "--json", "--repo", place("clone")};
    words.insert(words.end(), more.begin(), more.end());
    return server().run("nobody", words);
  }
  std::string first_field(const CommandEnd& end) {
    EXPECT_EQ(end.code, 1) << end.output;
    return Document(end.output).at("/mismatches/0/field");
  }
};

TEST_F(Proofs, OfALandedChangeAreVerifiedOnACloneWithoutAServer) {
  const std::string id = land();
  const CommandEnd bundle = server().run("rex", {"attest", "show", id});
  ASSERT_EQ(bundle.code, 0);
  const CommandEnd key = server().run("rex", {"attest", "key"});
  ASSERT_EQ(key.code, 0);
  keep("bundle", bundle.output);
  keep("key.pem", key.output);
  run_program({"git", "clone", "-q", sample().path(), place("clone")}, sample().checkout());
  const std::vector<std::string> usual{"--bundle", place("bundle"), "--key", place("key.pem")};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), usual.begin(), usual.end());
    return more;
  };
  const CommandEnd holds = verify(usual);
  EXPECT_EQ(holds.code, 0) << holds.output;
  EXPECT_EQ(Document(holds.output).at("/task"), id);
  EXPECT_EQ(Document(holds.output).at("/assurance"), "in-process");

  EXPECT_EQ(first_field(verify(with({"HEAD^"}))), "subject[0].digest.gitCommit");
  keep("policy.yaml", "version: 1\n");
  EXPECT_TRUE(first_field(verify(with({"--policy", place("policy.yaml")}))).contains("[policy]"));
  std::string altered = bundle.output;
  altered[altered.size() / 2] = altered[altered.size() / 2] == 'A' ? 'B' : 'A';
  keep("altered", altered);
  EXPECT_NE(verify({"--bundle", place("altered"), "--key", place("key.pem")}).code, 0);
  // No statements are in the repository unless the policy wants it.
  EXPECT_EQ(verify({"--key", place("key.pem")}).code, 5);

  const CommandEnd whole = server().run("admin", {"audit", "verify", "--key", place("key.pem")});
  EXPECT_EQ(whole.code, 0) << whole.output;
  EXPECT_TRUE(whole.output.contains("unbroken")) << whole.output;
  const CommandEnd log = server().run("admin", {"audit", "export"});
  ASSERT_TRUE(log.output.contains("\"promotion.landed\"")) << log.output;
  keep("audit", log.output);
  const std::vector<std::string> from_file{"audit",        "verify", "--file",
                                           place("audit"), "--key",  place("key.pem")};
  EXPECT_EQ(server().run("nobody", from_file).code, 0);
  std::string forged = log.output;
  forged.replace(forged.find("\"rex\""), 5, "\"eve\"");
  keep("audit", forged);
  EXPECT_EQ(server().run("nobody", from_file).code, 1);
  keep("audit", log.output.substr(log.output.find('\n') + 1));
  EXPECT_EQ(server().run("nobody", from_file).code, 1);
}

}  // namespace
}  // namespace tests
