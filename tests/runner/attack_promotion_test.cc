// Attempts to land what was not tested, or not approved by somebody else: each is refused, and
// nothing has changed afterwards.
#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "runner/promotion/approval_rules.h"
#include "runner/store/people.h"
#include "runner/store/store.h"
#include "runner/store/tasks.h"
#include "runner/wire.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using tests::House;
using tests::shell;

class Attack : public testing::Test {
 protected:
  Attack() : tip_(house_.repository.tip()) {}

  TaskView waiting(const Submission& submission) {
    const TaskView task = house_.submit(submission);
    TaskView seen = house_.wait_for(task.id, TaskState::awaiting_approval);
    EXPECT_EQ(seen.state, TaskState::awaiting_approval) << seen.verdict << seen.reason.text;
    return seen;
  }
  TaskView now(const std::string& task) { return *house_.core->task(house_.actor("carol"), task); }
  void give(const std::string& name, Role role) {
    ASSERT_TRUE(
        house_.core
            ->grant(house_.actor("admin"), {.principal = name, .project = "sample", .role = role})
            .has_value());
  }
  // Refused with that problem and status, and nothing is different.
  void expect_refused(const Answer<TaskView>& answer, const std::string& problem, int status,
                      const TaskView& before) {
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().problem, problem);
    EXPECT_EQ(status_of(answer.error()), status);
    EXPECT_EQ(now(before.id).etag, before.etag);
    EXPECT_EQ(now(before.id).approvals.size(), before.approvals.size());
    EXPECT_EQ(house_.repository.tip(), tip_);
  }
  void set_policy(const std::string& from, const std::string& to) {
    std::string policy = shell("git -C " + house_.repository.path() + " show main:proofhouse.yaml");
    policy.replace(policy.find(from), from.size(), to);
    tip_ = house_.repository.advance("proofhouse.yaml", policy);
  }
  void fail_tests() {
    house_.machine.script = [](tests::ScriptedTask& task) {
      task.on(tasks::Side::change, "test").cases =
          tests::with_status(tests::passing({"A.Ok"}), "A.Ok", tasks::CaseStatus::failed);
    };
  }
  ApprovalRequest override_of(const TaskView& task) {
    ApprovalRequest request;
    request.commit = task.candidate_commit;
    request.reason = "the test is wrong";
    request.overrides = task.overridable;
    return request;
  }

  House house_;
  std::string tip_;
};

TEST_F(Attack, ApprovingOneChangeDoesNotLandAnother) {
  const TaskView one = waiting(house_.submission("src/a.txt", "one\n"));
  Submission amended = house_.submission("src/a.txt", "two\n");
  amended.title = one.title;
  const TaskView two = waiting(amended);
  ApprovalRequest request;
  request.commit = two.candidate_commit;
  request.if_match = two.etag;
  expect_refused(house_.core->decide(house_.actor("bob"), one.id, request), "etag_mismatch", 412,
                 one);
  request.commit = one.candidate_commit;
  expect_refused(house_.core->decide(house_.actor("bob"), one.id, request), "etag_mismatch", 412,
                 one);
  ASSERT_TRUE(house_.approve("bob", one).has_value());
  house_.wait_for(one.id, TaskState::done);
  EXPECT_EQ(house_.repository.tip(), one.candidate_commit);
  EXPECT_EQ(now(two.id).state, TaskState::awaiting_approval);
}

TEST_F(Attack, ATagNamedLikeTheBranchIsNotTheTarget) {
  const std::string moved = house_.repository.advance("src/b.txt", "b2\n");
  shell("git -C " + house_.repository.path() + " tag main " + tip_);
  const TaskView task = waiting(house_.submission());
  EXPECT_EQ(task.base_commit, moved);
  ASSERT_TRUE(house_.approve("bob", task).has_value());
  EXPECT_TRUE(house_.wait_for(task.id, TaskState::done).promotion.has_value());
  EXPECT_EQ(house_.repository.tip(), task.candidate_commit);
  EXPECT_EQ(shell("git -C " + house_.repository.path() + " rev-parse refs/tags/main"), tip_ + "\n");
}

TEST_F(Attack, APolicyInThePatchIsNotInForceForIt) {
  const std::string policy =
      shell("git -C " + house_.repository.path() + " show main:proofhouse.yaml");
  std::string weaker = policy;
  weaker.replace(weaker.find("\"**\": 1"), 7, "\"**\": 0");
  const TaskView task = waiting(house_.submission("proofhouse.yaml", weaker));
  EXPECT_EQ(task.guarded, std::vector<std::string>{"proofhouse.yaml"});
  EXPECT_EQ(task.owners_needed, 1);
  ASSERT_TRUE(house_.approve("bob", task).has_value());
  EXPECT_EQ(now(task.id).state, TaskState::awaiting_approval) << "bob is no owner";
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, AnotherPolicyOnTheTipVoidsTheApproval) {
  const TaskView task = waiting(house_.submission());
  set_policy("max_lines: 100", "max_lines: 99");
  ASSERT_TRUE(house_.approve("bob", task).has_value());
  TaskView again = house_.wait_for(task.id, TaskState::queued);
  while (again.attempts.size() < 2 || again.state != TaskState::awaiting_approval)
    again = house_.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_FALSE(again.approvals.front().valid);
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, EvidenceOfAnotherTaskProvesNothing) {
  const TaskView good = waiting(house_.submission("src/a.txt", "good\n"));
  fail_tests();
  const TaskView bad = house_.submit(house_.submission("src/a.txt", "bad\n"));
  ASSERT_EQ(house_.wait_for(bad.id, TaskState::done).verdict, "rejected");
  house_.core.reset();
  {
    // Whoever writes the database says that it passed and was approved.
    auto store = std::move(*store::Store::open(house_.data + "/proofhouse.db"));
    ASSERT_TRUE(store
                    ->write([&](store::Database& database) -> os::Result<void> {
                      const store::TaskRow other = TRY(store::get_task(database, good.id));
                      TRY(
                          database.run("UPDATE tasks SET state = 'promoting', verdict = 'accepted',"
                                       " judgement = ?, evidence_sha256 = ? WHERE id = ?",
                                       {other.judgement, other.evidence_sha256, bad.id}));
                      return {};
                    })
                    .has_value());
  }
  house_.restart();
  TaskView ended = now(bad.id);
  while (ended.state != TaskState::done) ended = house_.wait_for(bad.id, TaskState::done);
  EXPECT_EQ(ended.verdict, "error");
  EXPECT_EQ(ended.reason_code, "unproven");
  EXPECT_FALSE(ended.promotion.has_value());
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, ATaskThatNobodyApprovedDoesNotLandBecauseItsStateSaysSo) {
  const TaskView task = waiting(house_.submission());
  house_.core.reset();
  {
    auto store = std::move(*store::Store::open(house_.data + "/proofhouse.db"));
    ASSERT_TRUE(store
                    ->write([&](store::Database& database) -> os::Result<void> {
                      store::TaskRow row = TRY(store::get_task(database, task.id));
                      return store::move_task(database, row, TaskState::promoting);
                    })
                    .has_value());
  }
  house_.restart();
  const TaskView ended = house_.wait_for(task.id, TaskState::done);
  EXPECT_EQ(ended.reason_code, "unproven") << ended.reason.text;
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, AResultOfAnotherAttemptIsNotTaken) {
  house_.machine.script = [](tests::ScriptedTask& task) { task.evidence.attempt = "a_other"; };
  const TaskView task = house_.submit(house_.submission());
  const TaskView done = house_.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "error");
  EXPECT_EQ(done.failure_class, "infra");
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, ACommitThatDoesNotDescendFromTheTipIsNotTaken) {
  const std::string place = house_.directory / "unrelated";
  const std::string commit =
      shell(
          "git init -q -b main " + place + "; cd " + place +
          "; git config user.name bob; git config user.email bob@t; mkdir src; echo x > src/a.txt; "
          "cp " +
          house_.directory.path() +
          "/work/proofhouse.yaml .; git add -A; "
          "git commit -q -m unrelated; git rev-parse HEAD")
          .substr(0, 40);
  shell("cd " + place + "; echo " + commit + " | git pack-objects -q --revs --stdout > ../a.pack");
  const Actor author = house_.actor("author");
  const auto pack =
      house_.core->store_pack(author, "sample", *os::read_file(house_.directory / "a.pack"));
  ASSERT_TRUE(pack.has_value());
  Submission submission;
  submission.project = "sample";
  submission.commit = commit;
  submission.pack = *pack;
  const auto refused = house_.core->submit(author, submission, "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().problem, "not_descendant");
  EXPECT_EQ(status_of(refused.error()), 422);
  EXPECT_EQ(house_.repository.tip(), tip_);
}

TEST_F(Attack, NobodyApprovesTheOwnChangeByAnotherToken) {
  give("author", Role::reviewer);
  const TaskView task = waiting(house_.submission());
  // The author's second token, the owner of the chain, and a sibling in it.
  expect_refused(house_.approve("author", task), "self_approval", 403, task);
  expect_refused(house_.approve("alice", task), "self_approval", 403, task);
  ASSERT_TRUE(
      house_.core->create_principal(house_.actor("admin"), {.name = "minted", .owner = "author"})
          .has_value());
  give("minted", Role::reviewer);
  expect_refused(house_.approve("minted", task), "self_approval", 403, task);
}

TEST_F(Attack, NobodyApprovesTheOwnChangeByAReviewerWhomTheyMinted) {
  ASSERT_TRUE(
      house_.core->create_principal(house_.actor("admin"), {.name = "boss", .owner = "alice"})
          .has_value());
  ASSERT_TRUE(
      house_.core
          ->grant(house_.actor("admin"), {.principal = "boss", .project = "*", .role = Role::admin})
          .has_value());
  const Actor boss = house_.actor("boss");
  const TaskView task = waiting(house_.submission());
  // A person of its own, it says.
  ASSERT_TRUE(house_.core->create_principal(boss, {.name = "sock", .owner = ""}).has_value());
  ASSERT_TRUE(
      house_.core->grant(boss, {.principal = "sock", .project = "sample", .role = Role::reviewer})
          .has_value());
  expect_refused(house_.approve("sock", task), "self_approval", 403, task);
  // A token of somebody else, made by the author's chain.
  const auto stolen = house_.core->create_token(boss, "bob", std::chrono::hours(1));
  const Actor as_bob = *house_.core->authenticate(stolen->token);
  ApprovalRequest request;
  request.commit = task.candidate_commit;
  expect_refused(house_.core->decide(as_bob, task.id, request), "self_approval", 403, task);
  ASSERT_TRUE(house_.approve("bob", task).has_value());
}

TEST_F(Attack, AnAdministratorDecidesNothing) {
  const TaskView task = waiting(house_.submission());
  expect_refused(house_.approve("admin", task), "forbidden", 403, task);
  expect_refused(house_.approve("author", task), "forbidden", 403, task);
}

TEST_F(Attack, ADoubleClickLandsOnce) {
  const TaskView task = waiting(house_.submission());
  const Actor bob = house_.actor("bob");
  ApprovalRequest request;
  request.commit = task.candidate_commit;
  request.if_match = task.etag;
  std::vector<int> statuses(4);
  {
    std::vector<std::jthread> clicks;
    for (int& status : statuses)
      clicks.emplace_back([&] {
        const auto answer = house_.core->decide(bob, task.id, request);
        status = answer ? 200 : status_of(answer.error());
      });
  }
  EXPECT_EQ(std::ranges::count(statuses, 200), 1);
  EXPECT_EQ(std::ranges::count(statuses, 409), 3);
  const TaskView done = house_.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.approvals.size(), 1U);
  EXPECT_EQ(shell("git -C " + house_.repository.path() + " rev-list --count " + tip_ + "..main"),
            "1\n");
  // Replayed later.
  EXPECT_EQ(house_.core->decide(bob, task.id, request).error().problem, "wrong_state");
  EXPECT_EQ(now(task.id).etag, done.etag);
}

TEST_F(Attack, AnExactApprovalIsVoidOnAnotherTip) {
  set_policy("approval: clean-rebase", "approval: exact");
  const TaskView task = waiting(house_.submission());
  tip_ = house_.repository.advance("src/b.txt", "b2\n");
  ASSERT_TRUE(house_.approve("bob", task).has_value());
  TaskView again = house_.wait_for(task.id, TaskState::queued);
  while (again.attempts.size() < 2 || again.state != TaskState::awaiting_approval)
    again = house_.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_FALSE(again.approvals.front().valid);
  EXPECT_TRUE(again.approvals.front().void_reason.contains("exact"));
  EXPECT_EQ(house_.repository.tip(), tip_);
  ASSERT_TRUE(house_.approve("bob", again).has_value());
  EXPECT_TRUE(house_.wait_for(task.id, TaskState::done).promotion.has_value());
}

TEST(ApprovalRules, OutcomesAreAlikeByStatusAndAssuranceOfEachGate) {
  gates::Judgement seen;
  seen.gates.push_back({.name = tasks::GateName("speed"),
                        .kind = tasks::GateKind::benchmark,
                        .status = gates::GateStatus::passed,
                        .assurance = tasks::Assurance::in_process,
                        .reasons = {},
                        .summary = "1.02"});
  gates::Judgement now = seen;
  now.gates[0].summary = "1.03";
  EXPECT_EQ(changed_outcome(seen, now), "");
  now.gates[0].status = gates::GateStatus::inconclusive;
  EXPECT_TRUE(changed_outcome(seen, now).contains("speed"));
  now = seen;
  now.gates[0].assurance = tasks::Assurance::sealed;
  EXPECT_NE(changed_outcome(seen, now), "");
  now.gates.clear();
  EXPECT_NE(changed_outcome(seen, now), "");
}

class Override : public Attack {
 protected:
  Override() {
    set_policy("approvals: 1,", "approvals: 1, override: owners,");
    give("bob", Role::owner);
    fail_tests();
  }
  TaskView rejected() {
    const TaskView task = house_.submit(house_.submission());
    TaskView done = house_.wait_for(task.id, TaskState::done);
    EXPECT_EQ(done.verdict, "rejected");
    return done;
  }
};

TEST_F(Override, OfAFailedGateTakesTwoOwnersWhoNameIt) {
  const TaskView task = rejected();
  EXPECT_EQ(task.overridable, std::vector<std::string>{"tests"});
  const auto first = house_.core->decide(house_.actor("bob"), task.id, override_of(task));
  ASSERT_TRUE(first.has_value()) << first.error().detail;
  EXPECT_EQ(first->state, TaskState::awaiting_approval);
  EXPECT_EQ(first->owners_needed, 2);
  EXPECT_EQ(house_.repository.tip(), tip_);
  // The same person again is no second one.
  ASSERT_TRUE(house_.core->decide(house_.actor("bob"), task.id, override_of(task)).has_value());
  EXPECT_EQ(now(task.id).state, TaskState::awaiting_approval);
  ASSERT_TRUE(house_.core->decide(house_.actor("carol"), task.id, override_of(task)).has_value());
  const TaskView done = house_.wait_for(task.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value()) << done.reason.text;
  EXPECT_EQ(house_.repository.tip(), task.candidate_commit);
  EXPECT_TRUE(done.reason.text.contains("overrode 'tests'")) << done.reason.text;
  EXPECT_TRUE(done.promotion->receipt.contains("\"overridden\":[\"tests\"]"))
      << done.promotion->receipt;
  EXPECT_TRUE(done.promotion->receipt.contains("the test is wrong"));
}

TEST_F(Override, IsNotForReviewersAuthorsOrOneOwnerAlone) {
  const TaskView task = rejected();
  ASSERT_TRUE(house_.core->create_principal(house_.actor("admin"), {.name = "rita", .owner = ""})
                  .has_value());
  give("rita", Role::reviewer);
  expect_refused(house_.core->decide(house_.actor("rita"), task.id, override_of(task)), "forbidden",
                 403, task);
  expect_refused(house_.core->decide(house_.actor("alice"), task.id, override_of(task)),
                 "self_approval", 403, task);
  ApprovalRequest more = override_of(task);
  more.overrides = {"tests", "size"};
  expect_refused(house_.core->decide(house_.actor("bob"), task.id, more), "invalid_field", 422,
                 task);
  ApprovalRequest silent = override_of(task);
  silent.reason.clear();
  expect_refused(house_.core->decide(house_.actor("bob"), task.id, silent), "invalid_field", 422,
                 task);
  ApprovalRequest plain = override_of(task);
  plain.overrides.clear();
  expect_refused(house_.core->decide(house_.actor("bob"), task.id, plain), "wrong_state", 409,
                 task);
}

TEST_F(Override, HoldsOverACleanRebaseWithEvidenceOfItsOwn) {
  const TaskView task = rejected();
  ASSERT_TRUE(house_.core->decide(house_.actor("bob"), task.id, override_of(task)).has_value());
  const std::string tip = house_.repository.advance("src/b.txt", "b2\n");
  ASSERT_TRUE(house_.core->decide(house_.actor("carol"), task.id, override_of(task)).has_value());
  TaskView done = house_.wait_for(task.id, TaskState::done);
  while (done.state != TaskState::done) done = house_.wait_for(task.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value()) << done.reason.text;
  EXPECT_EQ(done.promotion->old_commit, tip);
  EXPECT_EQ(done.attempts.size(), 2U);
  EXPECT_NE(done.evidence_sha256, task.evidence_sha256);
}

TEST_F(Override, OfAGateThatPassedMeansNothing) {
  house_.machine.script = [](tests::ScriptedTask&) {};
  const TaskView task = waiting(house_.submission());
  ApprovalRequest request = override_of(task);
  request.overrides = {"tests"};
  expect_refused(house_.core->decide(house_.actor("bob"), task.id, request), "invalid_field", 422,
                 task);
}

TEST_F(Attack, NoGateIsOverriddenWhereThePolicyDoesNotSaySo) {
  give("bob", Role::owner);
  fail_tests();
  const TaskView submitted = house_.submit(house_.submission());
  const TaskView task = house_.wait_for(submitted.id, TaskState::done);
  EXPECT_TRUE(task.overridable.empty());
  ApprovalRequest request = override_of(task);
  request.overrides = {"tests"};
  expect_refused(house_.core->decide(house_.actor("bob"), task.id, request), "wrong_state", 409,
                 task);
}

}  // namespace
}  // namespace runner
