// References, remotes and packs on real repositories of this machine.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tasks/git_diff.h"
#include "tasks/git_history.h"
#include "tasks/git_hunks.h"
#include "tasks/git_pack.h"
#include "tasks/git_refs.h"
#include "tasks/git_remote.h"
#include "tasks/git_tree.h"
#include "tests/tasks/git_fixture.h"

namespace {

namespace fs = std::filesystem;
namespace git = tasks::git;
using tests::GitFiles;
using tests::GitRepository;

constexpr const char* kMain = "refs/heads/main";

class Git : public testing::Test {
 protected:
  os::TempDir directory_ = *os::TempDir::create();
  GitRepository repository_{directory_ / "repo.git"};
  tasks::CommitId base_ = repository_.commit(GitFiles{{"a", {"1\n"}}, {"src/b", {"2\n"}}});
  tasks::CommitId next_ = repository_.commit(GitFiles{{"a", {"one\n"}}}, {base_});
  tasks::CommitId other_ = repository_.commit(GitFiles{{"a", {"uno\n"}}}, {base_});

  git::Repository open(const std::string& path) {
    os::Result<git::Repository> repository = git::Repository::open(path);
    if (!repository) ADD_FAILURE() << repository.error().message;
    return std::move(*repository);
  }
  git::Repository open() { return open(repository_.path()); }
  static os::Code code_of(const os::Result<void>& result) {
    return result ? os::Code::internal : result.error().code;
  }
};

TEST_F(Git, ReadsATipWithItsPolicy) {
  EXPECT_EQ(git::read_tip(open(), kMain).error().code, os::Code::not_found);
  repository_.set(kMain, base_);
  os::Result<git::Tip> tip = git::read_tip(open(), kMain);
  ASSERT_TRUE(tip);
  EXPECT_EQ(tip->commit, base_);
  EXPECT_EQ(tip->policy_blob, "");
  const tasks::CommitId with = repository_.commit(GitFiles{{"proofhouse.yaml", {"version: 1\n"}}});
  repository_.set(kMain, with);
  tip = git::read_tip(open(), kMain);
  ASSERT_TRUE(tip);
  EXPECT_EQ(tip->policy_blob, repository_.blob("version: 1\n"));
  EXPECT_EQ(tip->policy_sha256.size(), 64U);
}

TEST_F(Git, MovesARefByCompareAndSwap) {
  repository_.set(kMain, base_);
  ASSERT_TRUE(git::move_ref(open(), {kMain, base_, next_}));
  EXPECT_EQ(repository_.get(kMain), next_.hex());
  // Once more, or from what it was.
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, base_, next_})), os::Code::conflict);
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, base_, other_})), os::Code::conflict);
  // Only forward.
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, next_, base_})), os::Code::conflict);
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, next_, other_})), os::Code::conflict);
  EXPECT_EQ(repository_.get(kMain), next_.hex());
}

TEST_F(Git, MovesNoRefToWhatIsNotThere) {
  repository_.set(kMain, base_);
  const auto unknown = *tasks::CommitId::parse("0123456789012345678901234567890123456789");
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, base_, unknown})), os::Code::not_found);
  EXPECT_EQ(code_of(git::move_ref(open(), {"refs/heads/none", base_, next_})), os::Code::not_found);
  EXPECT_EQ(code_of(git::move_ref(open(), {"refs/tags/v1", base_, next_})), os::Code::invalid);
  EXPECT_EQ(code_of(git::move_ref(open(), {"refs/heads/../x", base_, next_})), os::Code::invalid);
  EXPECT_EQ(repository_.get(kMain), base_.hex());
}

TEST_F(Git, OfTwoMovesOneWins) {
  repository_.set(kMain, base_);
  // Both have read the old tip before either moves.
  const git::Repository first = open();
  const git::Repository second = open();
  ASSERT_EQ(git::read_tip(first, kMain)->commit, base_);
  ASSERT_EQ(git::read_tip(second, kMain)->commit, base_);
  EXPECT_TRUE(git::move_ref(first, {kMain, base_, next_}));
  EXPECT_EQ(code_of(git::move_ref(second, {kMain, base_, other_})), os::Code::conflict);
  EXPECT_EQ(repository_.get(kMain), next_.hex());
}

// Makes the repository look like one whose `main` is checked out in a linked work tree.
TEST_F(Git, MovesNoRefThatIsCheckedOut) {
  repository_.set(kMain, base_);
  ASSERT_TRUE(os::make_directories(repository_.path() + "/worktrees/w"));
  std::ofstream(repository_.path() + "/worktrees/w/HEAD") << "ref: refs/heads/main\n";
  EXPECT_EQ(code_of(git::move_ref(open(), {kMain, base_, next_})), os::Code::conflict);
  const auto obstacles = git::inspect(repository_.path(), kMain);
  ASSERT_TRUE(obstacles && obstacles->size() == 1U);
  EXPECT_EQ(obstacles->front().code, "checked_out");
  EXPECT_NE(obstacles->front().text.find("switch --detach"), std::string::npos);
}

TEST_F(Git, InspectsWhatStandsAgainstATarget) {
  const auto codes = [&] {
    std::vector<std::string> found;
    const auto obstacles = git::inspect(repository_.path(), kMain);
    if (!obstacles) return std::vector<std::string>{obstacles.error().message};
    for (const git::Obstacle& obstacle : *obstacles) found.push_back(obstacle.code);
    return found;
  };
  EXPECT_EQ(codes(), std::vector<std::string>{"no_target"});
  repository_.set(kMain, base_);
  EXPECT_TRUE(codes().empty());
  std::ofstream(repository_.path() + "/objects/info/alternates") << "/nowhere\n";
  std::ofstream(repository_.path() + "/shallow") << base_.hex() << "\n";
  EXPECT_EQ(codes(), (std::vector<std::string>{"alternates", "shallow"}));
  EXPECT_EQ(git::inspect(directory_ / "none", kMain).error().code, os::Code::not_found);
}

TEST_F(Git, AddsAPackAndReadsItsCommit) {
  const GitRepository target(directory_ / "target.git");
  target.commit(GitFiles{{"a", {"1\n"}}, {"src/b", {"2\n"}}});
  const auto files = git::write_pack(open(), {next_, {base_}}, directory_.path());
  ASSERT_TRUE(files) << files.error().message;
  const git::PackToAdd pack{files->pack, files->index, next_};
  ASSERT_TRUE(git::add_pack_files(target.path(), pack));
  ASSERT_TRUE(git::add_pack_files(target.path(), pack));
  EXPECT_EQ(open(target.path()).commit(next_)->tree, open().commit(next_)->tree);
  // A pack that brings something else.
  EXPECT_EQ(code_of(git::add_pack_files(target.path(), {files->pack, files->index, other_})),
            os::Code::corrupt);
}

TEST_F(Git, IndexesAPackStrictly) {
  const auto files = git::write_pack(open(), {next_, {base_}}, directory_.path());
  ASSERT_TRUE(files);
  const os::TempDir out = *os::TempDir::create();
  EXPECT_EQ(git::index_pack(files->pack, out.path())->name, files->name);
  // Its parent is elsewhere: connected to that, and not to an empty repository.
  const git::Repository whole = open();
  EXPECT_TRUE(git::index_pack(files->pack, out.path(), &whole));
  const GitRepository empty(directory_ / "empty.git");
  const git::Repository nothing = open(empty.path());
  EXPECT_FALSE(git::index_pack(files->pack, out.path(), &nothing));
  std::string bytes = *os::read_file(files->pack);
  for (const std::size_t at : {std::size_t{14}, bytes.size() / 2, bytes.size() - 1}) {
    std::string broken = bytes;
    broken[at] = static_cast<char>(broken[at] ^ 0x55);
    ASSERT_TRUE(os::write_file_durably(directory_ / "broken.pack", broken));
    EXPECT_FALSE(git::index_pack(directory_ / "broken.pack", out.path())) << at;
  }
  ASSERT_TRUE(os::write_file_durably(directory_ / "cut.pack", bytes.substr(0, bytes.size() - 30)));
  EXPECT_FALSE(git::index_pack(directory_ / "cut.pack", out.path()));
}

TEST_F(Git, ChecksTheObjectsOfAPack) {
  const tasks::CommitId bad = repository_.commit(
      tests::tree_id(repository_.raw_tree({{"104755", "f", repository_.blob("x")}})), {base_});
  const auto files = git::write_pack(open(), {bad, {base_}}, directory_.path());
  ASSERT_TRUE(files);
  git::Refuser refuser;
  EXPECT_FALSE(git::check_pack(*files, refuser));
  ASSERT_TRUE(refuser.refusal());
  EXPECT_EQ(refuser.refusal()->code, "invalid_mode");
}

TEST_F(Git, FetchesToItsOwnNamesOnly) {
  repository_.set(kMain, base_);
  const GitRepository copy(directory_ / "copy.git");
  const git::Remote remote{"file://" + repository_.path(), ""};
  os::Result<tasks::CommitId> fetched = git::fetch(open(copy.path()), remote, kMain);
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(*fetched, base_);
  EXPECT_EQ(copy.get("refs/remotes/origin/main"), base_.hex());
  EXPECT_EQ(copy.get(kMain), "");
  // Also when the remote's branch went back.
  copy.set(kMain, base_);
  repository_.set(kMain, next_);
  EXPECT_EQ(*git::fetch(open(copy.path()), remote, kMain), next_);
  repository_.set(kMain, other_);
  EXPECT_EQ(*git::fetch(open(copy.path()), remote, kMain), other_);
  EXPECT_EQ(copy.get(kMain), base_.hex());
  EXPECT_EQ(git::fetch(open(copy.path()), remote, "refs/heads/none").error().code,
            os::Code::not_found);
  EXPECT_FALSE(git::fetch(open(copy.path()), {"file:///nowhere", ""}, kMain));
}

TEST_F(Git, PushesOnlyOverWhatWasTested) {
  repository_.set(kMain, base_);
  const GitRepository remote_side(directory_ / "remote.git");
  const git::Remote remote{"file://" + remote_side.path(), ""};
  remote_side.commit(GitFiles{{"a", {"1\n"}}, {"src/b", {"2\n"}}});
  remote_side.set(kMain, base_);
  // Somebody else was faster.
  const tasks::CommitId faster = remote_side.commit(GitFiles{{"a", {"fast\n"}}}, {base_});
  remote_side.set(kMain, faster);
  EXPECT_EQ(code_of(git::push(open(), remote, {kMain, base_, next_})), os::Code::conflict);
  EXPECT_EQ(*git::remote_tip(remote, kMain), faster);
  remote_side.set(kMain, base_);
  const os::Result<void> pushed = git::push(open(), remote, {kMain, base_, next_});
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_EQ(*git::remote_tip(remote, kMain), next_);
  EXPECT_EQ(open(remote_side.path()).commit(next_)->tree, open().commit(next_)->tree);
  EXPECT_EQ(code_of(git::push(open(), remote, {kMain, next_, other_})), os::Code::conflict);
}

TEST_F(Git, CopiesARepositoryWholeOrNotAtAll) {
  repository_.set(kMain, next_);
  repository_.set("refs/heads/other", other_);
  const std::string copy = directory_ / "copy.git";
  git::CloneSpec spec{{repository_.path(), ""}, copy, kMain, git::CloneSpec::Branches::ours};
  const os::Result<void> made = git::clone_bare(spec);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(git::read_tip(open(copy), kMain)->commit, next_);
  EXPECT_EQ(git::read_tip(open(copy), "refs/heads/other")->commit, other_);
  EXPECT_EQ(code_of(git::clone_bare(spec)), os::Code::conflict);
  spec.destination = directory_ / "tracked.git";
  spec.branches = git::CloneSpec::Branches::tracked;
  ASSERT_TRUE(git::clone_bare(spec));
  EXPECT_EQ(git::read_tip(open(spec.destination), "refs/remotes/origin/main")->commit, next_);
  EXPECT_FALSE(git::read_tip(open(spec.destination), kMain));
  spec.destination = directory_ / "failed.git";
  spec.ref = "refs/heads/none";
  EXPECT_FALSE(git::clone_bare(spec));
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    EXPECT_EQ(entry.path().filename().string().find("failed"), std::string::npos) << entry.path();
}

TEST_F(Git, FindsRevisionsAndCommonAncestors) {
  repository_.set(kMain, next_);
  EXPECT_EQ(*git::resolve(open(), "main"), next_);
  EXPECT_EQ(*git::resolve(open(), "main~1"), base_);
  EXPECT_FALSE(git::resolve(open(), "none"));
  EXPECT_EQ(*git::merge_base(open(), next_, other_), base_);
  EXPECT_TRUE(*git::descends_from(open(), next_, base_));
  EXPECT_FALSE(*git::descends_from(open(), base_, next_));
  EXPECT_FALSE(*git::descends_from(open(), next_, other_));
  EXPECT_EQ(git::make_patch(open(), base_, next_, 10).error().code, os::Code::exhausted);
}

TEST(GitUrl, AllowsNamedSchemesOnly) {
  using git::FileUrls;
  for (const char* const url : {"https://example.com/a.git", "https://user@example.com:8443/a",
                                "ssh://git@example.com/a", "git@example.com:a/b.git"})
    EXPECT_TRUE(git::check_url(url, FileUrls::refuse)) << url;
  for (const char* const url :
       {"/srv/a.git", "file:///srv/a.git", "http://example.com/a", "git://example.com/a",
        "ext::sh -c id", "ext::x@y:z", "-oProxyCommand=id", "ssh://-oProxyCommand=id/x",
        "ssh://git@-oProxyCommand=id/x", "-x@example.com:a", "https://user:secret@example.com/a",
        "https:///a", "relative/path", "https://exa mple.com/a", "https://example.com/\na", "",
        "HTTPS://example.com/a", "file://host/a"})
    EXPECT_EQ(git::check_url(url, FileUrls::refuse).error().code, os::Code::invalid) << url;
  EXPECT_TRUE(git::check_url("/srv/a.git", FileUrls::allow));
  EXPECT_TRUE(git::check_url("file:///srv/a.git", FileUrls::allow));
  EXPECT_FALSE(git::check_url("file://host/a", FileUrls::allow));
  const std::vector<std::string> more{"https", "git"};
  EXPECT_FALSE(git::check_url("git://host/a.git", FileUrls::refuse));
  EXPECT_TRUE(git::check_url("git://host:9418/a.git", FileUrls::refuse, more));
  EXPECT_FALSE(git::check_url("git://user:word@host/a.git", FileUrls::refuse, more));
  EXPECT_FALSE(git::check_url("ssh://host/a.git", FileUrls::refuse, more));
  EXPECT_FALSE(git::check_url("me@host:a.git", FileUrls::refuse, more));
}

TEST(GitHunks, FindsTheNearestPlace) {
  const std::string text = "a\nb\nx\na\nb\nx\na\nb\n";
  const std::vector<std::string_view> lines = git::split_lines(text);
  git::Hunk hunk{"@@", 4, {"a\n", "b\n"}};
  EXPECT_EQ(git::find_hunk(hunk, lines, 0, 0), 3U);
  EXPECT_EQ(git::find_hunk(hunk, lines, 0, 2), 6U);
  EXPECT_EQ(git::find_hunk(hunk, lines, 4, 0), 6U);
  hunk.before = {"b\n", "a\n"};
  EXPECT_EQ(git::find_hunk(hunk, lines, 0, 0), std::nullopt);
  EXPECT_EQ(git::find_hunk({"@@", 0, {}}, {}, 0, 0), 0U);
}

}  // namespace
