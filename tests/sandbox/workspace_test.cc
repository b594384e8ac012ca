#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "tests/sandbox/jail_fixture.h"

namespace tests {
namespace {

using sandbox::RunRequest;
using sandbox::RunResult;
using sandbox::WorkspaceMode;
using sandbox::WorkspaceRequest;

class Workspace : public JailTest {
 protected:
  // The workspace "main" over a tree with two files and a directory.
  void open() {
    WorkspaceRequest request;
    request.name = "main";
    request.tree = make_tree('a', {{"one", "1\n"}, {"two", "2\n"}, {"dir/three", "3\n"}});
    request.disk = os::Bytes{64U << 20U};
    open_workspace(request);
  }

  std::string print_in(const std::string& id, WorkspaceMode mode, const std::string& script) {
    RunRequest run = request(id, script);
    run.workspace = "main";
    run.mode = mode;
    const RunResult result = JailTest::run(run);
    EXPECT_TRUE(result.outcome.is_success()) << describe(result.outcome) << "\n" << head(id);
    EXPECT_EQ(result.level, "full");
    return head(id);
  }

  void TearDown() override {
    JailTest::TearDown();
    if (!layers.empty()) ::umount2(layers.c_str(), MNT_DETACH);
  }

  std::string shared(const std::string& id, const std::string& script) {
    return print_in(id, WorkspaceMode::shared, script);
  }
  std::string scratch(const std::string& id, const std::string& script) {
    return print_in(id, WorkspaceMode::scratch, script);
  }
};

TEST_F(Workspace, ShowsTheTreeOwnedByTheUserOfTheCommand) {
  open();
  EXPECT_EQ(shared("ls", "stat -c '%n %U %a' one dir dir/three; pwd"),
            "one build 644\ndir build 755\ndir/three build 644\n/workspace\n");
}

TEST_F(Workspace, AllowsWhatAnOwnerMayDo) {
  open();
  shared("edit",
         "echo more >> one; rm two; chmod 700 dir; mkdir new; mv dir moved; ln one linked;"
         "touch moved/three; rm -rf moved; mkdir dir; echo x > dir/two; chown build:build one");
  EXPECT_EQ(shared("look", "ls -1; cat one"), "dir\nlinked\nnew\none\n1\nmore\n");
}

TEST_F(Workspace, NeverChangesTheTree) {
  open();
  shared("edit", "echo more >> one; rm -r two dir; touch new");
  end();
  const std::string tree = trees + "/" + std::string(40, 'a');
  EXPECT_EQ(os::read_file(tree + "/one").value_or(""), "1\n");
  EXPECT_TRUE(std::filesystem::exists(tree + "/dir/three"));
  EXPECT_FALSE(std::filesystem::exists(tree + "/new"));
}

TEST_F(Workspace, KeepsWhatSharedRunsWriteAndDropsWhatScratchRunsWrite) {
  open();
  shared("first", "echo kept > kept; rm two");
  EXPECT_EQ(scratch("second", "cat kept; test ! -e two; rm kept; echo x > one; touch gone; ls"),
            "kept\ndir\ngone\none\n");
  EXPECT_EQ(scratch("third", "ls; cat one"), "dir\nkept\none\n1\n");
  EXPECT_EQ(shared("fourth", "ls; cat one"), "dir\nkept\none\n1\n");
}

TEST_F(Workspace, RenamesADirectoryOfTheTreeInBothModes) {
  open();
  EXPECT_EQ(scratch("scratch", "mv dir moved && cat moved/three"), "3\n");
  shared("shared", "mv dir moved");
  EXPECT_EQ(scratch("again", "cat moved/three; mv moved back; cat back/three"), "3\n3\n");
}

TEST_F(Workspace, HasOneDeviceNumberForAllFiles) {
  open();
  EXPECT_EQ(shared("stat", "touch new; stat -c %d . one dir new | sort -u | wc -l"), "1\n");
}

TEST_F(Workspace, IsBoundedInBytes) {
  open();
  RunRequest fill = request("fill", "head -c 100M /dev/zero > big");
  fill.workspace = "main";
  fill.mode = WorkspaceMode::scratch;
  fill.limits.disk = os::Bytes{1U << 20U};
  const RunResult result = run(fill);
  EXPECT_EQ(result.outcome, sandbox::Outcome::exited(1));
  ASSERT_EQ(result.limits_hit.size(), 1U);
  EXPECT_EQ(result.limits_hit[0].limit, "disk");
}

TEST_F(Workspace, MayHaveADirectoryBelowItWhoseFilesStayAsTheyAre) {
  lower = *directory / "lower";
  write_file(lower + "/file", "text\n");
  WorkspaceRequest request;
  request.name = "main";
  request.directory = true;
  open_workspace(request);
  EXPECT_EQ(shared("edit", "cat file; echo other > file; cat file"), "text\nother\n");
  EXPECT_EQ(os::read_file(lower + "/file").value_or(""), "text\n");
}

TEST_F(Workspace, MayBeEmpty) {
  WorkspaceRequest request;
  request.name = "main";
  open_workspace(request);
  EXPECT_EQ(shared("empty", "ls -A | wc -l; touch x"), "0\n");
}

TEST_F(Workspace, ClearsOldReportsFirstButFollowsNoLink) {
  open();
  shared("old", "touch report; mkdir -p out/sub; touch out/sub/x; ln -s dir link");
  RunRequest next = request("new", "ls; ls dir");
  next.workspace = "main";
  next.mode = WorkspaceMode::shared;
  next.clear = {"report", "out", "missing/file", "link/three"};
  EXPECT_TRUE(run(next).outcome.is_success());
  EXPECT_EQ(head("new"), "dir\nlink\none\ntwo\nthree\n");
}

TEST_F(Workspace, KeptAsALayerIsFoundByTheNextOne) {
  open();
  shared("build",
         "mkdir build; echo object > build/o; rm two; mv dir renamed; rm -r renamed/three;"
         "mkdir opaque; touch -d 2020-01-01 build/o; ln build/o build/hard");
  const std::string key(64, 'b');
  ASSERT_OK(client->keep_layer({"main", key}));
  ASSERT_OK(client->keep_layer({"main", key}));
  WorkspaceRequest next;
  next.name = "next";
  next.domain = sandbox::Domain::base;
  next.tree = std::string(40, 'a');
  next.layer = key;
  open_workspace(next);
  RunRequest look = request(
      "look",
      "ls -A . build renamed; stat -c '%U %Y %h' build/o; echo more >> build/o; cat build/hard;"
      "rm -r build");
  look.domain = sandbox::Domain::base;
  look.workspace = "next";
  look.mode = WorkspaceMode::shared;
  EXPECT_TRUE(run(look).outcome.is_success());
  EXPECT_EQ(head("look"),
            ".:\nbuild\none\nopaque\nrenamed\n\nbuild:\nhard\no\n\nrenamed:\nbuild 1577836800 2\n"
            "object\n");
  struct stat info{};
  ASSERT_EQ(::stat((layers + "/" + key + "/build/o").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0U) << "layers belong to whom layers/ belongs to";
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(layers), {}), 1);
}

// A layer on a file system without mapped ids is copied for the workspace: with its whiteouts.
TEST_F(Workspace, KeptAsALayerIsCopiedWhereIdsCannotBeMapped) {
  ASSERT_EQ(::mount("layers", layers.c_str(), "ramfs", MS_NOSUID | MS_NODEV, nullptr), 0);
  open();
  shared("build", "echo object > o; ln o hard; rm two");
  const std::string key(64, 'b');
  ASSERT_OK(client->keep_layer({"main", key}));
  WorkspaceRequest next;
  next.name = "next";
  next.tree = std::string(40, 'a');
  next.layer = key;
  open_workspace(next);
  RunRequest look = request("look", "ls -A; stat -c '%U %h' o; echo more >> o");
  look.workspace = "next";
  look.mode = WorkspaceMode::shared;
  const RunResult result = run(look);
  EXPECT_TRUE(result.outcome.is_success()) << head("look");
  EXPECT_EQ(head("look"), "dir\nhard\no\none\nbuild 2\n");
  EXPECT_NE(std::ranges::find(result.gaps, "idmap"), result.gaps.end());
  EXPECT_EQ(result.level, "full");
}

TEST_F(Workspace, OfAnotherDomainIsRefused) {
  open();
  RunRequest other = request("other", "true");
  other.domain = sandbox::Domain::judge;
  other.workspace = "main";
  other.mode = WorkspaceMode::shared;
  const os::Result<RunResult> result = client->run(other);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, os::Code::invalid);
}

TEST_F(Workspace, WithAMissingTreeOrLayerIsRefused) {
  start();
  WorkspaceRequest request;
  request.name = "main";
  request.tree = std::string(40, 'f');
  EXPECT_EQ(client->open_workspace(request).error().code, os::Code::not_found);
  request.tree = "../attempt";
  EXPECT_EQ(client->open_workspace(request).error().code, os::Code::invalid);
  request.tree = "";
  request.layer = std::string(64, 'f');
  EXPECT_EQ(client->open_workspace(request).error().code, os::Code::not_found);
}

TEST_F(Workspace, OnATreeThatIsALinkIsRefused) {
  std::filesystem::create_directory_symlink("/etc", trees + "/" + std::string(40, 'c'));
  start();
  WorkspaceRequest request;
  request.name = "main";
  request.tree = std::string(40, 'c');
  EXPECT_FALSE(client->open_workspace(request).has_value());
}

}  // namespace
}  // namespace tests
