#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runner/promotion/approval_rules.h"
#include "runner/promotion/promoter.h"
#include "runner/store/approvals.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"
#include "sandbox/wire.h"
#include "tests/runner/house.h"

namespace runner {
namespace {

using tests::House;
using tests::shell;

TaskView waiting_task(House& house, const Submission& submission) {
  const TaskView task = house.submit(submission);
  return house.wait_for(task.id, TaskState::awaiting_approval);
}

TEST(ApprovalRules, ApprovalsZeroHoldsOnlyForAReachedAssurance) {
  tasks::Policy policy;
  policy.promotion.approvals = 0;
  gates::Judgement judgement;
  judgement.verdict = gates::Verdict::accepted;
  judgement.assurance = tasks::Assurance::sealed;
  EXPECT_EQ(approval_need(policy, {}, judgement).approvals, 1) << "no assurance is asked for";
  policy.promotion.assurance = tasks::Assurance::out_of_process;
  EXPECT_TRUE(approval_need(policy, {}, judgement).is_nothing());
  judgement.assurance = tasks::Assurance::in_process;
  EXPECT_EQ(approval_need(policy, {}, judgement).approvals, 1);
}

TEST(ApprovalRules, GuardedPathsNeedOwnersWhateverTheAssurance) {
  tasks::Policy policy;
  policy.promotion.approvals = 0;
  policy.promotion.assurance = tasks::Assurance::sealed;
  policy.owners = {{"**", 1}, {"proofhouse.yaml", 2}};
  gates::Judgement judgement;
  judgement.verdict = gates::Verdict::accepted;
  judgement.assurance = tasks::Assurance::sealed;
  EXPECT_EQ(approval_need(policy, {"proofhouse.yaml"}, judgement).owners, 2);
}

TEST(ApprovalRules, TwoOfOneChainAreOnePerson) {
  store::ApprovalRow one;
  one.principal = "a";
  one.chain = "alice";
  store::ApprovalRow two = one;
  two.principal = "b";
  ApprovalNeed need{.approvals = 2, .owners = 0, .asks = {}};
  EXPECT_FALSE(suffices(need, {one, two}));
  two.chain = "bob";
  EXPECT_TRUE(suffices(need, {one, two}));
  need.owners = 1;
  EXPECT_FALSE(suffices(need, {one, two}));
  two.is_owner = true;
  EXPECT_TRUE(suffices(need, {one, two}));
}

TEST(ApprovalRules, AnApprovalCountsForItsDiffPolicyAndGatesOnly) {
  store::ApprovalRow row;
  row.diff_digest = "d";
  row.policy_sha256 = "p";
  row.gates = {"speed"};
  const auto counts = [&](const ApprovalBinding& binding, const std::vector<std::string>& asks) {
    return !counting_approvals({row}, binding, asks).empty();
  };
  EXPECT_TRUE(counts({"d", "p"}, {"speed"}));
  EXPECT_FALSE(counts({"x", "p"}, {"speed"}));
  EXPECT_FALSE(counts({"d", "x"}, {"speed"}));
  EXPECT_FALSE(counts({"d", "p"}, {"speed", "other"}));
  row.void_reason = "void";
  EXPECT_FALSE(counts({"d", "p"}, {}));
}

TEST(Promotion, MovesTheBranchToTheTestedCommit) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const std::string old = house.repository.tip();
  ASSERT_TRUE(house.approve("bob", task).has_value());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "accepted");
  EXPECT_EQ(house.repository.tip(), task.candidate_commit);
  ASSERT_TRUE(done.promotion.has_value());
  EXPECT_EQ(done.promotion->old_commit, old);
  const auto receipt = sandbox::parse_json(done.promotion->receipt);
  ASSERT_TRUE(receipt.has_value());
  EXPECT_TRUE(done.promotion->receipt.contains(done.evidence_sha256));
  EXPECT_TRUE(done.promotion->receipt.contains("\"by\":\"bob\""));
  EXPECT_FALSE(os::read_file(house.data + "/quarantine/" + task.id).has_value());
}

TEST(Promotion, NobodyApprovesWhatTheirOwnChainAuthored) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  // alice answers for author.
  EXPECT_EQ(house.approve("alice", task).error().problem, "self_approval");
  EXPECT_EQ(house.approve("author", task).error().problem, "forbidden");
  EXPECT_EQ(house.approve("admin", task).error().problem, "forbidden");
  EXPECT_EQ(house.core->task(house.actor("bob"), task.id)->state, TaskState::awaiting_approval);
}

TEST(Promotion, AnApprovalIsForWhatTheReviewerSaw) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const Actor bob = house.actor("bob");
  ApprovalRequest request;
  EXPECT_EQ(house.core->decide(bob, task.id, request).error().pointer, "/commit");
  request.commit = std::string(40, 'a');
  EXPECT_EQ(house.core->decide(bob, task.id, request).error().problem, "etag_mismatch");
  request.commit = task.candidate_commit;
  request.if_match = "old";
  EXPECT_EQ(house.core->decide(bob, task.id, request).error().problem, "etag_mismatch");
  request.if_match = task.etag;
  request.diff_digest = "other";
  EXPECT_EQ(house.core->decide(bob, task.id, request).error().problem, "etag_mismatch");
  request.diff_digest = task.diff_digest;
  request.gates = {"size"};
  EXPECT_EQ(house.core->decide(bob, task.id, request).error().pointer, "/gates");
}

TEST(Promotion, ARefusalSaysWhyAndEndsTheTask) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  ApprovalRequest request;
  request.decision = Decision::refuse;
  request.commit = task.candidate_commit;
  EXPECT_EQ(house.core->decide(house.actor("bob"), task.id, request).error().pointer, "/reason");
  request.reason = "not needed";
  const auto refused = house.core->decide(house.actor("bob"), task.id, request);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->verdict, "rejected");
  EXPECT_EQ(refused->failure_class, "review");
  EXPECT_TRUE(refused->reason.text.contains("not needed"));
}

TEST(Promotion, AGuardedFileNeedsAnOwner) {
  House house;
  const TaskView task = waiting_task(house, house.submission("tests/t.txt", "t2\n"));
  EXPECT_EQ(task.guarded, std::vector<std::string>{"tests/t.txt"});
  EXPECT_EQ(task.owners_needed, 1);
  const auto by_reviewer = house.approve("bob", task);
  ASSERT_TRUE(by_reviewer.has_value());
  EXPECT_EQ(by_reviewer->state, TaskState::awaiting_approval);
  const auto why = house.core->why(house.actor("bob"), task.id);
  EXPECT_TRUE(why->text.contains("owner")) << why->text;
  ASSERT_TRUE(house.approve("carol", task).has_value());
  EXPECT_TRUE(house.wait_for(task.id, TaskState::done).promotion.has_value());
}

TEST(Promotion, ATargetThatMovedIsFollowedWithTheSameDiff) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const std::string tip = house.repository.advance("src/b.txt", "b2\n");
  ASSERT_TRUE(house.approve("bob", task).has_value());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value()) << done.verdict << ": " << done.reason.text;
  EXPECT_EQ(done.promotion->old_commit, tip);
  EXPECT_NE(done.candidate_commit, task.candidate_commit);
  EXPECT_EQ(house.repository.tip(), done.candidate_commit);
  EXPECT_EQ(done.attempts.size(), 2U);
  EXPECT_EQ(done.attempts.back().why, "new tip");
  EXPECT_NE(done.attempts.back().id, done.attempts.front().id);
  EXPECT_TRUE(done.approvals.front().valid);
}

TEST(Promotion, AChangeThatDoesNotRebaseIsOver) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const std::string tip = house.repository.advance("src/a.txt", "of somebody else\n");
  ASSERT_TRUE(house.approve("bob", task).has_value());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "rejected");
  EXPECT_EQ(done.failure_class, "review");
  EXPECT_TRUE(done.next_step.contains("submit it again")) << done.next_step;
  EXPECT_FALSE(done.approvals.front().valid);
  EXPECT_EQ(house.repository.tip(), tip);
}

TEST(Promotion, AnotherPolicyVoidsTheApproval) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const std::string policy =
      shell("git -C " + house.repository.path() + " show main:proofhouse.yaml");
  std::string stricter = policy;
  stricter.replace(stricter.find("max_lines: 100"), 14, "max_lines: 99");
  house.repository.advance("proofhouse.yaml", stricter);
  ASSERT_TRUE(house.approve("bob", task).has_value());
  house.wait_for(task.id, TaskState::queued);
  TaskView again = house.wait_for(task.id, TaskState::awaiting_approval);
  ASSERT_EQ(again.state, TaskState::awaiting_approval) << again.reason.text;
  while (again.attempts.size() < 2) again = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_FALSE(again.approvals.front().valid);
  EXPECT_TRUE(again.approvals.front().void_reason.contains("policy"));
}

TEST(Promotion, ARefThatMovedBeforeACrashIsNotMovedAgain) {
  House house;
  const TaskView task = waiting_task(house, house.submission());
  const std::string old = house.repository.tip();
  house.core.reset();
  // What a serve leaves that was killed between the move and the receipt.
  {
    auto store = std::move(*store::Store::open(house.data + "/proofhouse.db"));
    ASSERT_TRUE(store
                    ->write([&](store::Database& database) -> os::Result<void> {
                      store::TaskRow row = TRY(store::get_task(database, task.id));
                      TRY(store::move_task(database, row, TaskState::promoting));
                      return store::begin_promotion(database,
                                                    {.task = task.id,
                                                     .project = "sample",
                                                     .target = "refs/heads/main",
                                                     .old_commit = old,
                                                     .new_commit = task.candidate_commit,
                                                     .state = store::PromotionState::moving,
                                                     .receipt = "",
                                                     .at = "now"});
                    })
                    .has_value());
  }
  shell("cd " + house.repository.path() + "; for p in " + house.data + "/quarantine/" + task.id +
        "/*.pack; do git unpack-objects -q < $p; done; git update-ref refs/heads/main " +
        task.candidate_commit);
  const std::string later = house.repository.advance("src/b.txt", "built on it\n");
  house.restart();
  const TaskView done = house.wait_for(task.id, TaskState::done);
  ASSERT_TRUE(done.promotion.has_value());
  EXPECT_EQ(done.promotion->old_commit, old);
  EXPECT_EQ(done.promotion->new_commit, task.candidate_commit);
  EXPECT_EQ(house.repository.tip(), later);
}

// One change on its way to the target, another being tested on the new tip, a third behind it.
TEST(Promotion, WhoWaitsInTheQueueIsToldBehindWhom) {
  House house;
  house.machine.ending = [](int number) {
    return number == 4 ? tests::FakeMachine::Ending::keeps_running
                       : tests::FakeMachine::Ending::completes;
  };
  std::vector<TaskView> tasks;
  for (const char* const file : {"src/x.txt", "src/y.txt", "src/z.txt"})
    tasks.push_back(waiting_task(house, house.submission(file, "new\n")));
  for (const TaskView& task : tasks) ASSERT_TRUE(house.approve("bob", task).has_value());
  EXPECT_EQ(house.wait_for(tasks[0].id, TaskState::done).verdict, "accepted");
  EXPECT_EQ(house.wait_for(tasks[1].id, TaskState::running).state, TaskState::running);
  const auto why = house.core->why(house.actor("bob"), tasks[2].id);
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->state, "promotion_queue");
  EXPECT_TRUE(why->text.contains("1 change")) << why->text;
  EXPECT_TRUE(why->text.contains(tasks[1].id)) << why->text;
  house.machine.finish_running();
  for (const TaskView& task : tasks) {
    const TaskView done = house.wait_for(task.id, TaskState::done);
    EXPECT_EQ(done.verdict, "accepted") << done.reason.text;
    EXPECT_TRUE(done.approvals.front().valid);
  }
  // Each of those behind the first was tested again once.
  EXPECT_EQ(house.machine.verified(), 5);
}

TEST(Promotion, AFrozenProjectTakesNoChangeToPromote) {
  House house;
  const Submission submission = house.submission();
  house.core.reset();
  {
    auto store = std::move(*store::Store::open(house.data + "/proofhouse.db"));
    ASSERT_TRUE(store
                    ->write([](store::Database& database) {
                      return store::freeze_project(database, "sample", "read back another commit");
                    })
                    .has_value());
  }
  house.restart();
  const auto refused = house.core->submit(house.actor("author"), submission, "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().problem, "project_frozen");
}

}  // namespace
}  // namespace runner
