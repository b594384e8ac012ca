// The git helper as serve uses it: real processes on real repositories.
#include "runner/git/git_helper.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "runner/git/git_client.h"
#include "sandbox/os/files.h"
#include "tasks/git_pack.h"
#include "tasks/git_remote.h"
#include "tests/support/capability.h"
#include "tests/support/git_server.h"
#include "tests/support/programs.h"
#include "tests/tasks/git_fixture.h"

namespace {

using runner::GitClient;
using runner::GitClientOptions;
using runner::GitOperation;
using runner::GitRequest;
using runner::Project;
using tests::GitFiles;
using tests::GitRepository;

constexpr const char* kMain = "refs/heads/main";

class GitHelper : public testing::Test {
 protected:
  static GitClientOptions options(std::vector<std::string> arguments = {"git-helper"}) {
    GitClientOptions options;
    options.program = tests::guest_path("git_helper_program");
    options.arguments = std::move(arguments);
    options.file_urls = true;
    return options;
  }
  Project local() const {
    Project project;
    project.name = "p";
    project.repository = repository_.path();
    project.target = kMain;
    return project;
  }
  Project remote() const {
    Project project = local();
    project.repository = directory_ / "copy.git";
    project.url = "file://" + repository_.path();
    project.authority = runner::Authority::remote;
    return project;
  }
  GitRequest request(GitOperation operation) const {
    GitRequest request;
    request.operation = operation;
    request.repository = repository_.path();
    request.ref = kMain;
    return request;
  }
  // A pack with `commit`, which the given repository has and the project lacks.
  runner::GitLanding landing(const GitRepository& author, const tasks::CommitId& commit) const {
    const auto opened = tasks::git::Repository::open(author.path());
    const auto files = tasks::git::write_pack(*opened, {commit, {base_}}, directory_.path());
    return {base_, commit, files->pack, files->index};
  }

  os::TempDir directory_ = *os::TempDir::create();
  GitRepository repository_{directory_ / "repo.git"};
  GitFiles files_{{"a", {"1\n"}}, {"proofhouse.yaml", {"version: 1\n"}}};
  tasks::CommitId base_ = repository_.commit(files_);
  GitRepository author_{directory_ / "author.git"};
  tasks::CommitId change_ = make_change();
  GitClient client_{options()};

 private:
  tasks::CommitId make_change() {
    repository_.set(kMain, base_);
    EXPECT_EQ(author_.commit(files_), base_);
    return author_.commit(GitFiles{{"a", {"one\n"}}}, {base_});
  }
};

TEST_F(GitHelper, ReadsATip) {
  const os::Result<runner::GitTip> tip = client_.tip(local());
  ASSERT_TRUE(tip) << tip.error().message;
  EXPECT_EQ(tip->commit, base_);
  EXPECT_EQ(tip->tree, repository_.tree(files_));
  EXPECT_EQ(client_.ask(request(GitOperation::tip))->policy_blob, repository_.blob("version: 1\n"));
  Project none = local();
  none.target = "refs/heads/none";
  EXPECT_EQ(client_.tip(none).error().code, os::Code::not_found);
  none.repository = "/nowhere";
  EXPECT_EQ(client_.tip(none).error().code, os::Code::not_found);
}

TEST_F(GitHelper, OpensNothingThatIsHidden) {
  REQUIRE_CAPABILITY(landlock);
  std::filesystem::create_directory(directory_ / "keys");
  const GitRepository secret(directory_ / "keys/secret.git");
  secret.set(kMain, secret.commit(files_));
  Project project = local();
  project.repository = secret.path();
  ASSERT_TRUE(client_.tip(project));
  GitClientOptions hiding = options();
  hiding.hidden = {secret.path(), directory_ / "not-there-yet"};
  GitClient client(hiding);
  EXPECT_FALSE(client.tip(project));
  // A hidden file of a repository that is itself to be seen.
  hiding.hidden = {secret.path() + "/refs/heads/main"};
  EXPECT_FALSE(GitClient(hiding).tip(project));
  // What lies beside is as it was, writing and renaming included.
  EXPECT_EQ(client.tip(local())->commit, base_);
  EXPECT_TRUE(client.land(local(), landing(author_, change_)));
}

TEST_F(GitHelper, LandsInALocalRepository) {
  ASSERT_TRUE(client_.land(local(), landing(author_, change_)));
  EXPECT_EQ(repository_.get(kMain), change_.hex());
  EXPECT_EQ(client_.read_back(local())->commit, change_);
  EXPECT_TRUE(*client_.is_ancestor(local(), base_, change_));
  EXPECT_FALSE(*client_.is_ancestor(local(), change_, base_));
  // The same promotion again finds the target elsewhere.
  EXPECT_EQ(client_.land(local(), landing(author_, change_)).error().code, os::Code::conflict);
  EXPECT_EQ(repository_.get(kMain), change_.hex());
}

TEST_F(GitHelper, LandsInARemoteRepository) {
  runner::ProjectSpec spec;
  spec.url = remote().url;
  ASSERT_TRUE(client_.prepare(remote(), spec));
  ASSERT_EQ(client_.tip(remote())->commit, base_);
  // Somebody else was faster: nothing moves there.
  const tasks::CommitId faster = repository_.commit(GitFiles{{"a", {"fast\n"}}}, {base_});
  repository_.set(kMain, faster);
  EXPECT_EQ(client_.land(remote(), landing(author_, change_)).error().code, os::Code::conflict);
  EXPECT_EQ(client_.read_back(remote())->commit, faster);
  repository_.set(kMain, base_);
  const os::Result<void> landed = client_.land(remote(), landing(author_, change_));
  ASSERT_TRUE(landed) << landed.error().message;
  EXPECT_EQ(client_.read_back(remote())->commit, change_);
  EXPECT_EQ(repository_.get(kMain), change_.hex());
}

TEST_F(GitHelper, PreparesOnlyWhatCanHoldATarget) {
  EXPECT_TRUE(client_.prepare(local(), {}));
  Project none = local();
  none.target = "refs/heads/none";
  const os::Result<void> refused = client_.prepare(none, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, os::Code::conflict);
  EXPECT_NE(refused.error().message.find("git -C"), std::string::npos);
  Project imported = local();
  imported.repository = directory_ / "imported.git";
  runner::ProjectSpec spec;
  spec.repository = repository_.path();
  spec.import = true;
  ASSERT_TRUE(client_.prepare(imported, spec));
  EXPECT_EQ(client_.tip(imported)->commit, base_);
}

TEST_F(GitHelper, RefusesAddressesThatAreNotAllowed) {
  GitClientOptions strict = options();
  strict.file_urls = false;
  const GitClient client(strict);
  for (const std::string& url :
       {remote().url, std::string("ext::sh -c id"), std::string("http://a/b")}) {
    GitRequest asked = request(GitOperation::remote_tip);
    asked.url = url;
    const auto answer = client.ask(asked);
    ASSERT_FALSE(answer) << url;
    EXPECT_EQ(answer.error().code, os::Code::invalid) << url;
  }
}

TEST_F(GitHelper, IsEndedAtItsDeadline) {
  GitClientOptions hanging = options({"hang"});
  hanging.local_deadline = std::chrono::milliseconds(300);
  GitClient client(hanging);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(client.tip(local()).error().code, os::Code::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// libgit2 1.5.1 never returns from reading a loose object that was cut off.
TEST_F(GitHelper, AnswersOverADamagedRepository) {
  const std::string object =
      repository_.path() + "/objects/" + base_.hex().substr(0, 2) + "/" + base_.hex().substr(2);
  std::filesystem::permissions(object, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(object, std::filesystem::file_size(object) / 2);
  GitClientOptions impatient = options();
  impatient.local_deadline = std::chrono::milliseconds(2000);
  GitClient client(impatient);
  EXPECT_FALSE(client.tip(local()));
}

TEST_F(GitHelper, SaysWhenItEndedWithoutAnAnswer) {
  GitClient client(options({"die"}));
  EXPECT_EQ(client.tip(local()).error().code, os::Code::internal);
}

TEST_F(GitHelper, RefusesRequestsThatNameNoCommit) {
  for (const GitOperation operation : {GitOperation::update_ref, GitOperation::push,
                                       GitOperation::is_ancestor, GitOperation::add_pack}) {
    const runner::GitAnswer answer = runner::answer_git_request(request(operation));
    EXPECT_EQ(answer.error_code, "invalid");
  }
}

// Other servers speak git's own protocol, where the comparison is made by them.
TEST_F(GitHelper, PushesByGitsProtocolOnlyOverWhatWasTested) {
  REQUIRE_CAPABILITY(git);
  namespace git = tasks::git;
  const tests::GitServer server(directory_.path());
  const git::Remote remote{server.url("repo.git"), ""};
  ASSERT_EQ(*git::remote_tip(remote, kMain), base_);

  const os::Result<git::Repository> author = git::Repository::open(author_.path());
  const tasks::CommitId faster = repository_.commit(GitFiles{{"a", {"fast\n"}}}, {base_});
  repository_.set(kMain, faster);
  os::Result<void> pushed = git::push(*author, remote, {kMain, base_, change_});
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().code, os::Code::conflict) << pushed.error().message;
  EXPECT_EQ(repository_.get(kMain), faster.hex());
  repository_.set(kMain, base_);
  pushed = git::push(*author, remote, {kMain, base_, change_});
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(repository_.get(kMain), change_.hex());
  EXPECT_EQ(*git::remote_tip(remote, kMain), change_);
}

TEST(GitProtocol, ReadsWhatItWrites) {
  GitRequest request;
  request.operation = GitOperation::push;
  request.repository = "/r";
  request.ref = kMain;
  request.url = "u";
  request.from = *tasks::CommitId::parse("0123456789012345678901234567890123456789");
  EXPECT_EQ(*runner::decode_git_request(runner::encode(request)), request);
  runner::GitAnswer answer;
  answer.error_code = "conflict";
  answer.error_message = "moved";
  answer.obstacles = {{"shallow", "it lacks history"}};
  EXPECT_EQ(*runner::decode_git_answer(runner::encode(answer)), answer);
  EXPECT_FALSE(runner::decode_git_request("{}"));
  EXPECT_FALSE(runner::decode_git_request("{\"operation\":\"format\"}"));
  EXPECT_FALSE(runner::decode_git_answer("not json"));
}

}  // namespace
