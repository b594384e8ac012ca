#include "runner/service.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runner/house.h"

namespace runner {
namespace {

using tests::FakeMachine;
using tests::House;

// The problem of an answer; empty if there is none.
template <class T>
std::string problem_of(const Answer<T>& answer) {
  return answer ? std::string() : answer.error().problem;
}

TEST(Service, WritesTheAdminsTokenOnceForItsOwnerOnly) {
  House house;
  struct stat info{};
  ASSERT_EQ(::stat((house.data + "/admin.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto before = os::read_file(house.data + "/admin.token");
  house.restart();
  EXPECT_EQ(*os::read_file(house.data + "/admin.token"), *before);
}

TEST(Service, RefusesTokensThatAreNoneOrRevoked) {
  House house;
  const Actor admin = house.actor("admin");
  EXPECT_EQ(problem_of(house.core->authenticate("")), "unauthorized");
  EXPECT_EQ(problem_of(house.core->authenticate("ph_" + std::string(64, '0') + "_00000000")),
            "unauthorized");
  const auto token = house.core->create_token(admin, "bob", std::chrono::hours(1));
  ASSERT_TRUE(house.core->authenticate(token->token).has_value());
  std::string other = token->token;
  other.back() = other.back() == '0' ? '1' : '0';
  EXPECT_EQ(problem_of(house.core->authenticate(other)), "unauthorized");
  ASSERT_TRUE(house.core->revoke_token(admin, token->id).has_value());
  EXPECT_EQ(problem_of(house.core->authenticate(token->token)), "unauthorized");
}

TEST(Service, OnlyAnAdministratorConfigures) {
  House house;
  const Actor bob = house.actor("bob");
  EXPECT_EQ(problem_of(house.core->create_principal(bob, {.name = "x", .owner = ""})), "forbidden");
  EXPECT_EQ(
      problem_of(house.core->grant(bob, {.principal = "bob", .project = "*", .role = Role::owner})),
      "forbidden");
  EXPECT_EQ(problem_of(house.core->create_token(bob, "bob", std::chrono::hours(1))), "forbidden");
  EXPECT_EQ(problem_of(house.core->add_project(bob, {})), "forbidden");
}

TEST(Service, NamesTheFieldsOfPeopleThatItRefuses) {
  House house;
  const Actor admin = house.actor("admin");
  EXPECT_EQ(problem_of(house.core->create_principal(admin, {.name = "Bob!", .owner = ""})),
            "invalid_field");
  EXPECT_EQ(problem_of(house.core->create_principal(admin, {.name = "x", .owner = "nobody"})),
            "invalid_field");
  EXPECT_EQ(problem_of(house.core->create_principal(admin, {.name = "bob", .owner = ""})),
            "already_exists");
  const auto granted =
      house.core->grant(admin, {.principal = "bob", .project = "nothing", .role = Role::agent});
  EXPECT_EQ(granted.error().pointer, "/project");
  EXPECT_EQ(problem_of(house.core->create_token(admin, "nobody", std::chrono::hours(1))),
            "invalid_field");
  EXPECT_EQ(problem_of(house.core->create_token(admin, "bob", std::chrono::seconds(1))),
            "invalid_field");
}

TEST(Service, RegistersNoProjectWhoseTargetIsCheckedOut) {
  House house;
  ProjectSpec spec;
  spec.name = "worktree";
  spec.repository = house.directory.path() + "/work";
  const auto added = house.core->add_project(house.actor("admin"), spec);
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().pointer, "/repository");
  spec.import = true;
  EXPECT_TRUE(house.core->add_project(house.actor("admin"), spec).has_value());
  EXPECT_EQ(problem_of(house.core->add_project(house.actor("admin"), spec)), "already_exists");
}

TEST(Service, RegistersNoProjectWithAWrongPolicyOrTarget) {
  House house;
  ProjectSpec spec;
  spec.name = "other";
  spec.repository = house.repository.path();
  spec.policy_yaml = "version: 1\nstepz: {}\n";
  EXPECT_EQ(problem_of(house.core->add_project(house.actor("admin"), spec)), "policy_invalid");
  spec.policy_yaml.clear();
  spec.target = "refs/tags/v1";
  EXPECT_EQ(house.core->add_project(house.actor("admin"), spec).error().pointer, "/target");
  spec.target = "refs/heads/main";
  spec.authority = Authority::remote;
  spec.url = "ext::sh -c true";
  EXPECT_EQ(house.core->add_project(house.actor("admin"), spec).error().pointer, "/url");
}

TEST(Service, AProjectIsSeenByWhoHasARoleThere) {
  House house;
  ASSERT_TRUE(house.core->create_principal(house.actor("admin"), {.name = "stranger", .owner = ""})
                  .has_value());
  EXPECT_TRUE(house.core->projects(house.actor("stranger"))->empty());
  EXPECT_EQ(house.core->projects(house.actor("bob"))->size(), 1U);
  EXPECT_EQ(problem_of(house.core->policy_view(house.actor("stranger"), "sample")), "not_found");
  const TaskView task = house.submit(house.submission());
  EXPECT_EQ(problem_of(house.core->task(house.actor("stranger"), task.id)), "not_found");
  EXPECT_TRUE(house.core->list_tasks(house.actor("stranger"), {})->empty());
  EXPECT_EQ(house.core->list_tasks(house.actor("bob"), {})->size(), 1U);
}

TEST(Service, ShowsWhatAChangeMayEdit) {
  House house;
  const auto view = house.core->policy_view(house.actor("author"), "sample");
  ASSERT_TRUE(view.has_value()) << view.error().detail;
  EXPECT_TRUE(view->contains(R"("may_edit":["src/**"])")) << *view;
  EXPECT_TRUE(view->contains(R"("name":"tests")")) << *view;
}

TEST(Service, TakesAChangeInAndJudgesIt) {
  House house;
  const TaskView task = house.submit(house.submission());
  EXPECT_EQ(task.state, TaskState::queued);
  EXPECT_EQ(task.base_commit, house.repository.tip());
  EXPECT_EQ(task.candidate_commit.size(), 40U);
  const TaskView judged = house.wait_for(task.id, TaskState::awaiting_approval);
  EXPECT_EQ(judged.verdict, "accepted");
  EXPECT_EQ(judged.assurance, "in-process");
  EXPECT_EQ(judged.approvals_needed, 1);
  EXPECT_EQ(judged.gates.size(), 2U);
  EXPECT_NE(judged.etag, task.etag);
  const auto again = house.core->rejudge(house.actor("bob"), task.id);
  ASSERT_TRUE(again.has_value()) << again.error().detail;
  EXPECT_TRUE(again->same);
}

TEST(Service, RejectsWhatFailsItsTest) {
  House house;
  house.machine.script = [](tests::ScriptedTask& task) {
    task.on(tasks::Side::change, "test").cases =
        tests::with_status(tests::passing({"A.Ok"}), "A.Ok", tasks::CaseStatus::failed);
  };
  const TaskView task = house.submit(house.submission());
  const TaskView done = house.wait_for(task.id, TaskState::done);
  EXPECT_EQ(done.verdict, "rejected");
  EXPECT_EQ(done.failure_class, "test");
  EXPECT_TRUE(house.core->rejudge(house.actor("bob"), task.id)->same);
  EXPECT_EQ(problem_of(house.approve("bob", done)), "wrong_state");
}

TEST(Service, APatchThatDoesNotApplyIsRefusedAtOnce) {
  House house;
  Submission submission = house.submission();
  house.repository.advance("src/a.txt", "something else\n");
  const auto refused = house.core->submit(house.actor("author"), submission, "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().problem, "patch_conflict");
  EXPECT_EQ(refused.error().extra.at("path"), "src/a.txt");
  EXPECT_FALSE(refused.error().extra.at("hunk").empty());
  EXPECT_TRUE(house.core->list_tasks(house.actor("bob"), {})->empty());
}

TEST(Service, AnotherBaseIsForIntentsThatDoNotLand) {
  House house;
  Submission submission = house.submission();
  submission.base = house.repository.tip();
  house.repository.advance("src/b.txt", "b2\n");
  EXPECT_EQ(problem_of(house.core->submit(house.actor("author"), submission, "")), "stale_base");
  submission.intent = tasks::Intent::verify;
  const TaskView task = house.submit(submission);
  EXPECT_EQ(house.wait_for(task.id, TaskState::done).verdict, "accepted");
}

TEST(Service, IntentRunJudgesNothing) {
  House house;
  Submission submission = house.submission();
  submission.intent = tasks::Intent::run;
  submission.steps = {"nothing"};
  EXPECT_EQ(house.core->submit(house.actor("author"), submission, "").error().pointer, "/steps/0");
  submission.steps = {"test"};
  const TaskView task = house.submit(submission);
  EXPECT_EQ(house.wait_for(task.id, TaskState::done).verdict, "ran");
}

// What is refused because of itself, and where.
TEST(Service, NamesTheFieldOfASubmissionThatItRefuses) {
  House house;
  const Submission good = house.submission();
  const auto pointer_of = [&](const std::function<void(Submission&)>& change) {
    Submission submission = good;
    change(submission);
    const auto answer = house.core->submit(house.actor("author"), submission, "");
    return answer ? std::string("accepted") : answer.error().pointer;
  };
  EXPECT_EQ(pointer_of([](auto& s) { s.commit = std::string(40, 'a'); }), "/change");
  EXPECT_EQ(pointer_of([](auto& s) { s.patch.clear(); }), "/change");
  EXPECT_EQ(pointer_of([](auto& s) { s.base = "main"; }), "/base");
  EXPECT_EQ(pointer_of([](auto& s) { s.priority = "urgent"; }), "/priority");
  EXPECT_EQ(pointer_of([](auto& s) { s.title = "two\nlines"; }), "/title");
  EXPECT_EQ(pointer_of([](auto& s) { s.steps = {"build"}; }), "/steps");
  EXPECT_EQ(pointer_of([](auto& s) { s.family = "A B"; }), "/family");
  EXPECT_EQ(pointer_of([](auto& s) { s.claims.fixes = {""}; }), "/claims/fixes");
  EXPECT_EQ(pointer_of([](auto& s) { s.project = "Sample/../x"; }), "/project");
}

TEST(Service, OnlyAgentsCiAndOwnersSubmit) {
  House house;
  EXPECT_EQ(problem_of(house.core->submit(house.actor("bob"), house.submission(), "")),
            "forbidden");
  EXPECT_TRUE(house.core->submit(house.actor("carol"), house.submission(), "").has_value());
}

TEST(Service, TheSameSubmissionSentFiveTimesAtOnceIsOneTask) {
  House house;
  const Actor author = house.actor("author");
  const Submission submission = house.submission();
  os::Guarded<std::set<std::string>> ids;
  os::Guarded<int> first{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 5; ++i) {
      threads.emplace_back([&] {
        const auto answer = house.core->submit(author, submission, "one-key");
        ASSERT_TRUE(answer.has_value()) << answer.error().detail;
        ids.with([&](auto& set) { set.insert(answer->task.id); });
        if (!answer->replayed) first.with([](int& count) { ++count; });
      });
    }
  }
  EXPECT_EQ(ids.with([](auto& set) { return set.size(); }), 1U);
  EXPECT_EQ(first.with([](int& count) { return count; }), 1);
  EXPECT_EQ(house.machine.ingested(), 1);
}

TEST(Service, AKeyIsForOneBodyAlsoAfterARestart) {
  House house;
  const Submission submission = house.submission();
  const auto first = house.core->submit(house.actor("author"), submission, "k");
  ASSERT_TRUE(first.has_value());
  house.restart();
  const auto again = house.core->submit(house.actor("author"), submission, "k");
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->task.id, first->task.id);
  Submission other = submission;
  other.title = "another";
  EXPECT_EQ(problem_of(house.core->submit(house.actor("author"), other, "k")),
            "idempotency_key_reused");
  // The key is the principal's own.
  EXPECT_NE(house.core->submit(house.actor("carol"), submission, "k")->task.id, first->task.id);
}

TEST(Service, WithoutAKeyTheSameChangeOnTheSameTipIsTheSameTask) {
  House house;
  const Submission submission = house.submission();
  const auto first = house.core->submit(house.actor("author"), submission, "");
  EXPECT_EQ(house.core->submit(house.actor("author"), submission, "")->task.id, first->task.id);
  house.repository.advance("src/b.txt", "b2\n");
  EXPECT_NE(house.core->submit(house.actor("author"), submission, "")->task.id, first->task.id);
}

TEST(Service, RefusesWorkThatTheMachineCannotDo) {
  House house;
  house.repository.advance("proofhouse.yaml", R"(version: 1
steps: {run: {run: "true", gpu: {count: 1}, report: {tap: t.tap}}}
gates: {tests: {kind: tests, steps: [run]}}
)");
  const auto refused = house.core->submit(house.actor("author"), house.submission(), "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().problem, "unsatisfiable");
  EXPECT_TRUE(refused.error().detail.contains("'run'")) << refused.error().detail;
  EXPECT_TRUE(refused.error().detail.contains("GPU")) << refused.error().detail;
}

sandbox::gpu::GpuStatus gpu_status(const std::string& uuid) {
  sandbox::gpu::GpuStatus gpu;
  gpu.uuid = uuid;
  gpu.memory = os::Bytes{40ULL << 30U};
  gpu.owner = "a_1.1";
  gpu.run = "r0001";
  return gpu;
}

TEST(Service, TakesWorkForGpusThatCanBeLeased) {
  House house;
  house.repository.advance("proofhouse.yaml", R"(version: 1
steps: {run: {run: "true", gpu: {count: 2, min_memory: 20GiB}, report: {tap: t.tap}}}
gates: {tests: {kind: tests, steps: [run]}}
)");
  house.machine.probe.gpus = {gpu_status("GPU-1"), gpu_status("GPU-2")};
  house.machine.probe.gpus[1].is_usable = false;
  house.machine.probe.gpus[1].reason = "its node is missing";
  house.restart();
  const auto refused = house.core->submit(house.actor("author"), house.submission(), "");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().detail,
            "step 'run' asks for 2 GPU of 20GiB, and this machine has 1 (its node is missing)");
  house.machine.probe.gpus[1].is_usable = true;
  house.restart();
  const auto taken = house.core->submit(house.actor("author"), house.submission(), "");
  EXPECT_TRUE(taken.has_value()) << taken.error().detail;
}

TEST(Service, TellsAdministratorsAloneWhoHasAGpu) {
  House house;
  house.machine.probe.gpus = {gpu_status("GPU-1")};
  EXPECT_EQ(house.core->gpus(house.actor("admin"))->at(0).owner, "a_1.1");
  const auto seen = house.core->gpus(house.actor("author"));
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->at(0).uuid, "GPU-1");
  EXPECT_EQ(seen->at(0).owner + seen->at(0).run, "");
}

TEST(Service, CordonsAGpuByTheWordOfAnAdministrator) {
  House house;
  house.machine.probe.gpus = {gpu_status("GPU-1")};
  for (const char* const name : {"author", "alice", "bob"})
    EXPECT_EQ(problem_of(house.core->cordon_gpu(house.actor(name), "GPU-1", true, "")),
              "forbidden");
  EXPECT_FALSE(house.machine.probe.gpus[0].is_cordoned);
  const Actor admin = house.actor("admin");
  const auto gpu = house.core->cordon_gpu(admin, "GPU-1", true, "new fan");
  ASSERT_TRUE(gpu.has_value()) << gpu.error().detail;
  EXPECT_TRUE(gpu->is_cordoned);
  EXPECT_EQ(gpu->reason, "new fan");
  EXPECT_FALSE(house.core->cordon_gpu(admin, "GPU-1", false, "")->is_cordoned);
  EXPECT_EQ(problem_of(house.core->cordon_gpu(admin, "GPU-2", true, "")), "not_found");
  const std::string log = house.core->audit(admin, 0)->lines;
  EXPECT_TRUE(log.contains("gpu.cordoned") && log.contains("gpu.uncordoned")) << log;
  EXPECT_FALSE(log.contains("GPU-2")) << log;
}

TEST(Service, RefusesAChangeOfAProjectWithoutAPolicy) {
  House house;
  house.repository.advance("proofhouse.yaml", "version: 1\nwrong: 1\n");
  EXPECT_EQ(problem_of(house.core->submit(house.actor("author"), house.submission(), "")),
            "policy_invalid");
}

TEST(Service, SaysWhenItTakesNothing) {
  House house;
  const Submission submission = house.submission();
  const Actor author = house.actor("author");
  house.machine.probe.missing = {"overlayfs"};
  house.restart();
  EXPECT_EQ(problem_of(house.core->submit(author, submission, "")), "sandbox_unavailable");
  EXPECT_FALSE(house.core->readiness().ready);
  house.machine.probe.missing.clear();
  house.config.disk_high_water_millionths = 0;
  house.restart();
  const auto full = house.core->submit(author, submission, "");
  EXPECT_EQ(problem_of(full), "disk_full");
  EXPECT_TRUE(full.error().retryable);
  house.config.disk_high_water_millionths = 1'000'000;
  house.restart();
  EXPECT_TRUE(house.core->readiness().ready);
  house.core->drain();
  EXPECT_EQ(problem_of(house.core->submit(author, submission, "")), "draining");
}

TEST(Service, BoundsItsQueue) {
  House house;
  house.config.caps.queue = 1;
  house.machine.ending = [](int) { return FakeMachine::Ending::keeps_running; };
  house.machine.probe.cpus = {0};
  house.restart();
  const TaskView running = house.submit(house.submission("src/a.txt", "1\n"));
  house.wait_for(running.id, TaskState::running);
  const TaskView waiting = house.submit(house.submission("src/a.txt", "2\n"));
  const auto why = house.core->why(house.actor("author"), waiting.id);
  EXPECT_EQ(why->state, "resources") << why->text;
  const auto full =
      house.core->submit(house.actor("author"), house.submission("src/a.txt", "3\n"), "");
  EXPECT_EQ(problem_of(full), "queue_full");
  const auto cancelled = house.core->cancel(house.actor("author"), waiting.id);
  EXPECT_EQ(cancelled->verdict, "cancelled");
}

TEST(Service, TellsEventsInOneSequence) {
  House house;
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::awaiting_approval);
  const auto events =
      house.core->events(house.actor("author"), task.id, 0, std::chrono::milliseconds(0));
  ASSERT_TRUE(events.has_value());
  std::vector<std::string> types;
  for (const EventView& event : *events) {
    if (event.type.starts_with("task.")) types.push_back(event.type);
  }
  EXPECT_EQ(types,
            (std::vector<std::string>{"task.queued", "task.running", "task.awaiting_approval"}));
  const auto rest = house.core->events(house.actor("author"), task.id, events->back().id,
                                       std::chrono::milliseconds(10));
  EXPECT_TRUE(rest->empty());
}

TEST(Service, KeepsPacksOfKnownFormOnly) {
  House house;
  EXPECT_EQ(problem_of(house.core->store_pack(house.actor("author"), "sample", "no pack")),
            "invalid_field");
  const auto pack = house.core->store_pack(house.actor("author"), "sample", "PACKxxxx");
  ASSERT_TRUE(pack.has_value());
  Submission submission = house.submission();
  submission.patch.clear();
  submission.commit = house.repository.tip();
  submission.pack = "p_unknown";
  EXPECT_EQ(house.core->submit(house.actor("author"), submission, "").error().pointer,
            "/change/pack");
}

TEST(Service, ShowsDiffLogAndArtifactsOfATaskOnly) {
  House house;
  const TaskView task = house.submit(house.submission());
  house.wait_for(task.id, TaskState::awaiting_approval);
  const Actor author = house.actor("author");
  EXPECT_TRUE(house.core->diff(author, task.id)->contains("+changed"));
  const auto log = house.core->log(author, task.id, "test", 0, 1000);
  ASSERT_TRUE(log.has_value()) << log.error().detail;
  EXPECT_TRUE(log->bytes.starts_with("log of "));
  EXPECT_TRUE(log->finished);
  EXPECT_EQ(house.core->log(author, task.id, "test", 4, 2)->bytes, "of");
  EXPECT_EQ(problem_of(house.core->log(author, task.id, "nothing", 0, 10)), "not_found");
  const auto view = house.core->task(author, task.id);
  EXPECT_TRUE(house.core->artifact(author, task.id, view->evidence_sha256).has_value());
  EXPECT_EQ(problem_of(house.core->artifact(author, task.id, std::string(64, '0'))), "not_found");
}

TEST(Service, RunsTheBaseAgainWhereItsBuildWasNotKept) {
  House house;
  house.wait_for(house.submit(house.submission("src/a.txt", "1\n")).id,
                 TaskState::awaiting_approval);
  house.wait_for(house.submit(house.submission("src/a.txt", "2\n")).id,
                 TaskState::awaiting_approval);
  EXPECT_EQ(house.machine.carried(), 0);
}

TEST(Service, UsesTheBasesEvidenceAgainWithItsBuild) {
  House house;
  house.machine.keeps_layers = true;
  house.wait_for(house.submit(house.submission("src/a.txt", "1\n")).id,
                 TaskState::awaiting_approval);
  const TaskView second = house.submit(house.submission("src/a.txt", "2\n"));
  const TaskView done = house.wait_for(second.id, TaskState::awaiting_approval);
  EXPECT_EQ(done.verdict, "accepted");
  EXPECT_GT(house.machine.carried(), 0);
  // The blobs of the kept runs are this task's evidence too.
  EXPECT_TRUE(house.core->rejudge(house.actor("bob"), second.id)->same);
}

}  // namespace
}  // namespace runner
