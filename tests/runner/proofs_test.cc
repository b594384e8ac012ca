// What is kept of decisions and promotions: statements, notes, audit log, tokens.
#include <sys/stat.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runner/attest/audit_chain.h"
#include "runner/attest/dsse.h"
#include "runner/attest/names.h"
#include "runner/attest/verify.h"
#include "runner/git/git_client.h"
#include "runner/store/store.h"
#include "sandbox/wire.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using nlohmann::json;
using tests::House;
using tests::shell;

// A repository as git itself reads it.
class GitClone final : public CloneView {
 public:
  explicit GitClone(std::string path) : path_(std::move(path)) {}
  os::Result<std::string> tree_of(const std::string& commit) override {
    return git("rev-parse --verify -q " + commit + "^{tree}");
  }
  os::Result<bool> descends(const std::string& commit, const std::string& ancestor) override {
    return git("merge-base --is-ancestor " + ancestor + " " + commit + " && echo yes").has_value();
  }
  os::Result<PolicyFileId> policy_of(const std::string& commit) override {
    const std::string file = commit + ":proofhouse.yaml";
    PolicyFileId id{.blob = TRY(git("rev-parse --verify -q " + file)), .sha256 = {}};
    id.sha256 = TRY(git("show " + file + " | sha256sum")).substr(0, 64);
    return id;
  }

 private:
  os::Result<std::string> git(const std::string& words) const {
    const std::string said = shell("git -C " + path_ + " " + words + " || true");
    if (said.empty()) return os::fail(os::Code::not_found, "git: " + words);
    return said.substr(0, said.find('\n'));
  }
  std::string path_;
};

// Replaces words of the policy on the target.
void set_policy(House& house, const std::string& from, const std::string& to) {
  std::string policy = shell("git -C " + house.repository.path() + " show main:proofhouse.yaml");
  policy.replace(policy.find(from), from.size(), to);
  house.repository.advance("proofhouse.yaml", policy);
}

TaskView land(House& house, const std::string& text = "changed\n") {
  const TaskView task = house.submit(house.submission("src/a.txt", text));
  const TaskView waiting = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_TRUE(house.approve("bob", waiting).has_value());
  return house.wait_for(task.id, TaskState::done);
}

Attested verify(House& house, const TaskView& task, const std::string& commit) {
  GitClone clone(house.repository.path());
  const auto key = os::PublicKey::from_pem(house.core->public_key());
  const auto bundle = house.core->attestations(house.actor("bob"), task.id);
  EXPECT_TRUE(key.has_value() && bundle.has_value());
  return verify_bundle(*bundle, *key, {.commit = commit, .policy_sha256 = {}}, clone);
}

TEST(Statements, OfAPromotionHoldAgainstTheRepository) {
  House house;
  const TaskView done = land(house);
  ASSERT_TRUE(done.promotion.has_value()) << done.reason.text;
  const Attested attested = verify(house, done, done.candidate_commit);
  for (const Mismatch& each : attested.mismatches)
    ADD_FAILURE() << each.statement << " " << each.field << " " << each.detail;
  EXPECT_EQ(attested.task, done.id);
  EXPECT_EQ(attested.target, "refs/heads/main");
  EXPECT_EQ(attested.base, done.base_commit);
  EXPECT_EQ(attested.builder, builder_id("full"));
  EXPECT_EQ(attested.assurance, "in-process");
  EXPECT_EQ(attested.approvals, std::vector<std::string>{"bob"});
  EXPECT_FALSE(attested.self_approved);
}

TEST(Statements, SayWhatPassed) {
  House house;
  const TaskView done = land(house);
  const std::string bundle = *house.core->attestations(house.actor("bob"), done.id);
  bool is_found = false;
  for (std::size_t at = 0; at < bundle.size(); at = bundle.find('\n', at) + 1) {
    const auto envelope = parse_envelope(bundle.substr(at, bundle.find('\n', at) - at));
    ASSERT_TRUE(envelope.has_value());
    const json statement = json::parse(envelope->payload);
    if (statement["predicateType"] != kTestResult) continue;
    is_found = true;
    EXPECT_EQ(statement["predicate"]["result"], "PASSED");
    EXPECT_EQ(statement["predicate"]["passedTests"],
              json::array({"gate tests", "gate size", "test: A.Ok"}));
  }
  EXPECT_TRUE(is_found);
}

TEST(Statements, AnAmendedCommitIsNotTheOnePromoted) {
  House house;
  const TaskView done = land(house);
  const std::string amended =
      shell("git -C " + house.repository.path() + " -c user.name=t -c user.email=t@t commit-tree " +
            done.candidate_tree + " -p " + done.base_commit + " -m amended");
  const Attested attested = verify(house, done, amended.substr(0, 40));
  ASSERT_FALSE(attested.mismatches.empty());
  EXPECT_EQ(attested.mismatches.front().field, "subject[0].digest.gitCommit");
}

TEST(Statements, AreThereForWhoMaySeeTheTaskAndOnlyIfItLanded) {
  House house;
  const TaskView task = house.submit(house.submission());
  EXPECT_EQ(house.core->attestations(house.actor("bob"), task.id).error().problem, "not_found");
  ASSERT_TRUE(
      house.core->create_principal(house.actor("admin"), {.name = "eve", .owner = ""}).has_value());
  const TaskView done = land(house, "other\n");
  EXPECT_TRUE(house.core->attestations(house.actor("carol"), done.id).has_value());
  EXPECT_EQ(house.core->attestations(house.actor("eve"), done.id).error().problem, "not_found");
}

TEST(Statements, AreKeptAsAGitNoteWhereThePolicyWantsIt) {
  House house;
  set_policy(house, "approval: clean-rebase", "approval: clean-rebase, notes: true");
  const TaskView done = land(house);
  ASSERT_TRUE(done.promotion.has_value()) << done.reason.text;
  const std::string show = "git -C " + house.repository.path() + " notes --ref=proofhouse show " +
                           done.candidate_commit + " || true";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::string note;
  while (note.empty() && std::chrono::steady_clock::now() < deadline) note = shell(show);
  const std::string statements = *house.core->attestations(house.actor("bob"), done.id);
  EXPECT_EQ(note, statements);
  // The target holds the change and nothing more.
  EXPECT_EQ(house.repository.tip(), done.candidate_commit);
}

TEST(Statements, AreSignedByAKeyThatOnlyServeCanRead) {
  House house;
  struct stat info{};
  ASSERT_EQ(::stat((house.data + "/keys/attest.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  ASSERT_EQ(::stat((house.data + "/keys").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  const std::string key = house.core->public_key();
  house.restart();
  EXPECT_EQ(house.core->public_key(), key);
  ASSERT_EQ(::chmod((house.data + "/keys/attest.key").c_str(), 0644), 0);
  EXPECT_EQ(Notary::open(house.data + "/keys", "i").error().code, os::Code::denied);
}

TEST(Receipt, SaysThatAnOwnerApprovedTheOwnChange) {
  House house;
  set_policy(house, "approvals: 1,", "approvals: 1, self: owner,");
  const TaskView task = house.submit(house.submission());
  const TaskView waiting = house.wait_for(task.id, TaskState::awaiting_approval);
  ASSERT_TRUE(house.approve("alice", waiting).has_value());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value());
  EXPECT_TRUE(done.promotion->receipt.contains("\"self_approved\":true"));
  EXPECT_TRUE(verify(house, done, done.candidate_commit).self_approved);
}

TEST(Landing, LeavesNoAdviceToWaitForApprovals) {
  House house;
  const TaskView done = land(house);
  EXPECT_TRUE(done.next_step.starts_with("nothing: it is on refs/heads/main")) << done.next_step;
}

// The log of a house in which a change landed, and means to forge it.
class AuditTest : public testing::Test {
 protected:
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    std::int64_t after = 0;
    while (true) {
      const auto page = house_.core->audit(house_.actor("admin"), after);
      if (!page || page->last == 0) return lines;
      for (std::size_t at = 0; at < page->lines.size(); at = page->lines.find('\n', at) + 1)
        lines.push_back(page->lines.substr(at, page->lines.find('\n', at) - at));
      after = page->last;
    }
  }
  std::vector<std::string> problems() {
    // Asked for before the head: minting a token for it is an entry of its own.
    const Actor admin = house_.actor("admin");
    const std::string head = *house_.core->audit_head(admin);
    AuditVerifier verifier;
    for (const std::string& line : lines()) verifier.add(line);
    verifier.finish(head, *os::PublicKey::from_pem(house_.core->public_key()));
    return verifier.problems();
  }
  // Types of the entries about a subject.
  std::vector<std::string> types_of(const std::string& subject) {
    std::vector<std::string> types;
    for (const std::string& line : lines())
      if (const auto entry = parse_audit_line(line); entry && entry->event.subject == subject)
        types.push_back(entry->event.type);
    return types;
  }
  // What an operator with the database file can do.
  void forge(const std::string& sql) {
    house_.core.reset();
    {
      auto database =
          store::Database::open(house_.data + "/proofhouse.db", store::OpenMode::writer);
      ASSERT_TRUE(database.has_value());
      EXPECT_FALSE(database->execute(sql).has_value()) << "the log is append-only";
      ASSERT_TRUE(database
                      ->execute("DROP TRIGGER audit_is_not_changed;"
                                "DROP TRIGGER audit_is_not_cut;" +
                                sql)
                      .has_value());
    }
    house_.restart();
  }

  House house_;
};

TEST_F(AuditTest, HoldsEveryDecisionOfAPromotion) {
  const TaskView done = land(house_);
  const std::vector<std::string> expected{"task.admitted", "task.judged", "approval.given",
                                          "promotion.begun", "promotion.landed"};
  EXPECT_EQ(types_of(done.id), expected);
  EXPECT_TRUE(problems().empty());
  EXPECT_EQ(types_of("bob").size(), 2U);  // created, and given a role
  house_.restart();
  land(house_, "again\n");
  EXPECT_TRUE(problems().empty());
}

TEST_F(AuditTest, HoldsRefusalsAndTokens) {
  const TaskView task = house_.submit(house_.submission());
  const TaskView waiting = house_.wait_for(task.id, TaskState::awaiting_approval);
  ApprovalRequest request;
  request.decision = Decision::abstain;
  request.commit = waiting.candidate_commit;
  ASSERT_TRUE(house_.core->decide(house_.actor("carol"), task.id, request).has_value());
  request.decision = Decision::refuse;
  request.reason = "no";
  ASSERT_TRUE(house_.core->decide(house_.actor("bob"), task.id, request).has_value());
  const std::vector<std::string> expected{"task.admitted", "task.judged", "approval.abstained",
                                          "approval.refused"};
  EXPECT_EQ(types_of(task.id), expected);
  const Actor admin = house_.actor("admin");
  const auto token = house_.core->create_token(admin, "bob", std::chrono::hours(1));
  ASSERT_TRUE(house_.core->revoke_token(admin, token->id).has_value());
  EXPECT_EQ(types_of(token->id), (std::vector<std::string>{"token.minted", "token.revoked"}));
}

TEST_F(AuditTest, IsReadByAdministratorsOnly) {
  for (const char* const name : {"author", "bob", "carol"}) {
    EXPECT_EQ(house_.core->audit(house_.actor(name), 0).error().problem, "forbidden");
    EXPECT_EQ(house_.core->audit_head(house_.actor(name)).error().problem, "forbidden");
  }
}

TEST_F(AuditTest, AnAlteredEntryInTheDatabaseIsFound) {
  land(house_);
  forge("UPDATE audit SET entry = replace(entry, '\"bob\"', '\"eve\"') WHERE sequence = 4");
  EXPECT_FALSE(problems().empty());
}

TEST_F(AuditTest, ADroppedEntryInTheDatabaseIsFound) {
  land(house_);
  forge("DELETE FROM audit WHERE sequence = 5");
  const auto found = problems();
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found.front().starts_with("entry 5: missing")) << found.front();
}

TEST_F(AuditTest, ATruncatedLogInTheDatabaseIsFoundAlsoAfterMoreWasWritten) {
  land(house_);
  forge("DELETE FROM audit WHERE sequence > (SELECT max(sequence) FROM audit) - 3");
  EXPECT_FALSE(problems().empty());
  // The next entry does not cover it up: it follows the signed head.
  land(house_, "again\n");
  EXPECT_FALSE(problems().empty());
}

TEST_F(AuditTest, AnAlteredLastEntryIsNotConfirmedByTheNext) {
  land(house_);
  forge(
      "UPDATE audit SET entry = replace(entry, 'refs/heads/main', 'refs/heads/evil') WHERE "
      "sequence = (SELECT max(sequence) FROM audit)");
  land(house_, "again\n");
  EXPECT_FALSE(problems().empty());
}

TEST(Tokens, ShowTheirLastUseAndWhoMintedThem) {
  House house;
  const Actor admin = house.actor("admin");
  const auto token = house.core->create_token(admin, "bob", std::chrono::hours(1));
  const auto view_of = [&]() -> TokenView {
    const auto views = house.core->list_tokens(admin, "bob");
    for (const TokenView& view : *views)
      if (view.id == token->id) return view;
    return {};
  };
  EXPECT_EQ(view_of().minted_by, "admin");
  EXPECT_EQ(view_of().last_used_at, "");
  ASSERT_TRUE(house.core->authenticate(token->token).has_value());
  EXPECT_NE(view_of().last_used_at, "");
  ASSERT_TRUE(house.core->revoke_token(admin, token->id).has_value());
  EXPECT_NE(view_of().revoked_at, "");
  EXPECT_EQ(house.core->authenticate(token->token).error().problem, "unauthorized");
  // One's own are to be seen, others' are not.
  EXPECT_TRUE(house.core->list_tokens(house.actor("bob"), "bob").has_value());
  EXPECT_EQ(house.core->list_tokens(house.actor("bob"), "alice").error().problem, "forbidden");
  EXPECT_EQ(house.core->list_tokens(house.actor("bob"), "").error().problem, "forbidden");
}

TEST(Tokens, AreWorthlessOnceTheyExpired) {
  House house;
  const auto token =
      house.core->create_token(house.actor("admin"), "bob", std::chrono::seconds(60));
  ASSERT_TRUE(house.core->authenticate(token->token).has_value());
  house.core.reset();
  {
    auto database = store::Database::open(house.data + "/proofhouse.db", store::OpenMode::writer);
    ASSERT_TRUE(database
                    ->execute("UPDATE tokens SET expires_at = '2020-01-01T00:00:00.000Z' WHERE "
                              "id = '" +
                              token->id + "'")
                    .has_value());
  }
  house.restart();
  EXPECT_EQ(house.core->authenticate(token->token).error().problem, "unauthorized");
}

TEST(FirstStart, NeverLosesTheOnlyAdministratorsToken) {
  House house;
  house.core.reset();
  // Nothing is there yet, and the token's file cannot be written.
  const std::string data = house.directory / "other";
  ASSERT_TRUE(os::make_directories(data + "/admin.token/in-the-way").has_value());
  Config config = house.config;
  config.data = data;
  const auto open = [&] {
    return ServiceCore::open(config, house.machine.executor(),
                             std::make_unique<GitClient>(GitClientOptions{}));
  };
  EXPECT_FALSE(open().has_value());
  ASSERT_TRUE(os::remove_tree(data + "/admin.token").has_value());
  auto core = open();
  ASSERT_TRUE(core.has_value()) << core.error().message;
  const auto token = os::read_file(data + "/admin.token");
  ASSERT_TRUE(token.has_value());
  EXPECT_TRUE((*core)->authenticate(token->substr(0, token->size() - 1)).has_value());
  core->reset();
  house.restart();
}

}  // namespace
}  // namespace runner
