#include "tasks/git_files.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tasks/git_patch.h"
#include "tests/tasks/git_fixture.h"

namespace {

class GitEdits : public testing::Test {
 protected:
  os::TempDir work_ = os::TempDir::create("git-files").value();
  tests::GitRepository disk_{work_ / "repository.git"};
};

TEST_F(GitEdits, BeginWithTheFilesOfATreeWithoutLinks) {
  const tasks::TreeId tree =
      disk_.tree({{"a/b.sh", {"x", "100755"}}, {"c", {"y"}}, {"link", {"c", "120000"}}});
  const auto repository = tasks::git::Repository::open_objects(disk_.path()).value();
  const auto files = tasks::git::list_files(repository, tree, 2).value();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "a/b.sh");
  EXPECT_EQ(files[0].mode, 0100755U);
  EXPECT_EQ(files[1].path, "c");
  EXPECT_EQ(tasks::git::list_files(repository, tree, 1).error().code, os::Code::exhausted);
}

TEST_F(GitEdits, BecomeAPatchThatMakesTheEditsAndLeavesTheRepositoryAlone) {
  const tasks::CommitId base =
      disk_.commit({{"kept", {"k\n"}}, {"run.sh", {"one\n", "100755"}}, {"gone", {"g\n"}}});
  const auto repository = tasks::git::Repository::open_objects(disk_.path()).value();
  const std::string patch =
      tasks::git::patch_of_edits(repository, base,
                                 {{"run.sh", "two\n"}, {"gone", std::nullopt}, {"new/file", "n\n"}})
          .value();
  const tasks::TreeId wanted =
      disk_.tree({{"kept", {"k\n"}}, {"run.sh", {"two\n", "100755"}}, {"new/file", {"n\n"}}});
  const auto fresh = tasks::git::Repository::open_objects(disk_.path()).value();
  tasks::git::Refuser refuser;
  EXPECT_EQ(tasks::git::apply_patch(fresh, fresh.commit(base).value().tree, patch, refuser).value(),
            wanted);
}

}  // namespace
