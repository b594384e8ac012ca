// Commits, rebases, trees and policies as `ingest take` takes them in.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tasks/diff_view.h"
#include "tasks/git_history.h"
#include "tasks/git_pack.h"
#include "tasks/git_tree.h"
#include "tasks/ingest/tree_id.h"
#include "tasks/ingest/tree_writer.h"
#include "tests/tasks/ingest_fixture.h"

namespace {

namespace fs = std::filesystem;
namespace git = tasks::git;
using tests::GitEntry;
using tests::GitFiles;
using tests::GitRepository;
using tests::IngestTest;

class IngestCommit : public IngestTest {
 protected:
  // A commit on the base whose root holds `entries` beside nothing else.
  tasks::CommitId commit_of(const std::vector<GitEntry>& entries) {
    return repository_.commit(tests::tree_id(repository_.raw_tree(entries)), {base_});
  }
  void expect_refused(const tasks::CommitId& commit, const std::string& code,
                      const std::string& path) {
    const tasks::IngestResult result = take_commit(commit);
    EXPECT_EQ(code_of(result), code) << (result.refusal ? result.refusal->detail : "");
    if (result.refusal) {
      EXPECT_EQ(result.refusal->path, path) << result.refusal->detail;
    }
    EXPECT_FALSE(fs::exists(out("candidate.pack")));
  }
};

TEST_F(IngestCommit, KeepsThePostedCommitAndItsId) {
  GitFiles files = base_files();
  files["src/lib.cc"].content = "all new\n";
  const tasks::CommitId middle = repository_.commit(files, {base_}, "one\n");
  files["src/x.cc"] = {"x\n"};
  const tasks::CommitId head = repository_.commit(files, {middle}, "two\n");
  const tasks::IngestResult result = take_commit(head);
  ASSERT_EQ(code_of(result), "");
  EXPECT_EQ(result.candidate, head);
  EXPECT_EQ(result.tree, repository_.tree(files));
  EXPECT_EQ(result.base, base_);
  EXPECT_TRUE(result.guarded.empty());
  EXPECT_FALSE(result.mixed_tree);
  ASSERT_EQ(result.diff.files.size(), 2U);
  EXPECT_EQ(result.diff.files[0], (tasks::DiffFile{.status = 'M',
                                                   .path = "src/lib.cc",
                                                   .old_path = "src/lib.cc",
                                                   .added = 1,
                                                   .removed = 16,
                                                   .binary = false}));
  EXPECT_EQ(result.diff.files[1].status, 'A');
}

TEST_F(IngestCommit, TakesObjectsFromAPack) {
  const os::TempDir elsewhere = *os::TempDir::create();
  const GitRepository author(elsewhere / "repo");
  ASSERT_EQ(author.commit(base_files()), base_);
  GitFiles files = base_files();
  files["src/lib.cc"].content = "all new\n";
  const tasks::CommitId head = author.commit(files, {base_});
  EXPECT_EQ(code_of(take_commit(head)), "commit_not_found");

  const os::Result<git::Repository> opened = git::Repository::open(author.path());
  ASSERT_TRUE(opened);
  const os::Result<std::string> pack = git::make_pack(*opened, {head, {base_}});
  ASSERT_TRUE(pack) << pack.error().message;
  ASSERT_TRUE(os::write_file_durably(in("objects.pack"), *pack));
  tasks::IngestSpec asked = spec();
  asked.source = tasks::IngestSpec::Source::commit;
  asked.commit = head;
  asked.pack_file = "in/objects.pack";
  const tasks::IngestResult result = take(asked);
  EXPECT_EQ(code_of(result), "");
  EXPECT_EQ(result.candidate, head);
  EXPECT_FALSE(fs::exists(out("incoming")));
  // Three objects: the commit and the trees are new, of the files one.
  EXPECT_EQ(git::make_pack(*opened, {head, {base_}}, 100).error().code, os::Code::exhausted);
}

TEST_F(IngestCommit, RefusesABrokenPack) {
  for (const std::string& bytes :
       {std::string(), std::string("PACK"), std::string("PACK\0\0\0\2\0\0\0\1garbage", 19),
        std::string(100'000, 'x')}) {
    ASSERT_TRUE(os::write_file_durably(in("objects.pack"), bytes));
    tasks::IngestSpec asked = spec();
    asked.source = tasks::IngestSpec::Source::commit;
    asked.commit = base_;
    asked.pack_file = "in/objects.pack";
    EXPECT_EQ(code_of(take(asked)), "invalid_pack") << bytes.size();
  }
}

TEST_F(IngestCommit, TakesTheBaseItself) {
  const tasks::IngestResult result = take_commit(base_);
  EXPECT_EQ(code_of(result), "");
  EXPECT_EQ(result.tree, result.base_tree);
  EXPECT_TRUE(result.diff.files.empty());
  EXPECT_FALSE(fs::exists(out("candidate.pack")));
  EXPECT_TRUE(fs::exists(out("trees/" + result.tree.hex())));
}

TEST_F(IngestCommit, RefusesWhatDoesNotDescendFromTheBase) {
  const tasks::CommitId other = repository_.commit(base_files(), {}, "unrelated\n");
  expect_refused(repository_.commit(base_files(), {other}), "not_descendant", "");
}

TEST_F(IngestCommit, RefusesUnknownCommits) {
  const auto unknown = *tasks::CommitId::parse("0123456789012345678901234567890123456789");
  expect_refused(unknown, "commit_not_found", "");
  expect_refused(repository_.commit(repository_.tree(base_files()), {base_, unknown}),
                 "commit_not_found", "");
  const auto not_a_commit = *tasks::CommitId::parse(repository_.blob("text"));
  expect_refused(not_a_commit, "commit_not_found", "");
}

TEST_F(IngestCommit, RefusesRawModes) {
  const std::string blob = repository_.blob("x\n");
  const std::string tree = repository_.raw_tree({{"100644", "f", blob}});
  for (const char* const mode : {"104755", "102755", "101777", "106777", "100666", "100000",
                                 "100664", "0100644", "644", "160000"})
    expect_refused(commit_of({{mode, "f", blob}}), "invalid_mode", "f");
  for (const char* const mode : {"040000", "42755", "40755"})
    expect_refused(commit_of({{mode, "d", tree}}), "invalid_mode", "d");
  const tasks::IngestResult result = take_commit(commit_of({{"160000", "sub", base_.hex()}}));
  ASSERT_TRUE(result.refusal);
  EXPECT_NE(result.refusal->detail.find("submodules are not supported yet"), std::string::npos);
}

TEST_F(IngestCommit, RefusesNamesThatAreNone) {
  const std::string blob = repository_.blob("x\n");
  for (const std::string& name :
       {std::string("."), std::string(".."), std::string("a/b"), std::string(".git"),
        std::string(".GiT"), std::string("git~1"), std::string("GIT~1"), std::string(".git "),
        std::string(".git."), std::string(".git. . "), std::string(".git::$INDEX_ALLOCATION"),
        std::string(".g\u200cit"), std::string("\ufeff.git"), std::string("a\\.git"),
        std::string("..\\.git\\hooks"), std::string(256, 'x')})
    expect_refused(commit_of({{"100644", name, blob}}), "invalid_path", name);
  for (const std::string& name : {std::string(".gitignore"), std::string(".github"),
                                  std::string("a.git"), std::string(255, 'x')})
    EXPECT_EQ(code_of(take_commit(commit_of({{"100644", name, blob}}))), "") << name;
}

TEST_F(IngestCommit, RefusesTreesThatNoGitWrites) {
  const std::string blob = repository_.blob("src");
  const std::string tree = repository_.raw_tree({{"100644", "f", blob}});
  // One name as link and as directory.
  expect_refused(commit_of({{"120000", "d", blob}, {"40000", "d", tree}}), "invalid_path", "d");
  expect_refused(commit_of({{"120000", "d", blob}, {"100644", "d.c", blob}, {"40000", "d", tree}}),
                 "invalid_path", "d");
  expect_refused(commit_of({{"100644", "b", blob}, {"100644", "a", blob}}), "invalid_path", "a");
  // Objects of another kind than their mode says.
  expect_refused(commit_of({{"40000", "d", blob}}), "corrupt_object", "d");
  expect_refused(commit_of({{"100644", "f", tree}}), "corrupt_object", "f");
  expect_refused(commit_of({{"120000", "l", repository_.blob("")}}), "invalid_path", "l");
}

TEST_F(IngestCommit, RefusesMissingObjects) {
  const std::string gone = repository_.blob("gone\n");
  const std::string gone_tree = repository_.raw_tree({{"100644", "g", gone}});
  const tasks::CommitId one = commit_of({{"100644", "f", gone}});
  const tasks::CommitId two = commit_of({{"40000", "d", gone_tree}});
  repository_.remove_object(gone);
  expect_refused(one, "missing_object", "f");
  repository_.remove_object(gone_tree);
  expect_refused(two, "missing_object", "d");
}

TEST_F(IngestCommit, ChecksEveryCommitBetween) {
  const tasks::CommitId bad = commit_of({{"104755", "f", repository_.blob("x\n")}});
  expect_refused(repository_.commit(base_files(), {bad}), "invalid_mode", "f");
}

TEST_F(IngestCommit, RefusesBombsWithoutWalkingThem) {
  // 12 levels of 10 equal directories: 10^12 files in a few objects.
  std::string tree = repository_.raw_tree({{"100644", "f", repository_.blob("x\n")}});
  for (int level = 0; level < 12; ++level) {
    std::vector<GitEntry> entries;
    for (char name = 'a'; name < 'k'; ++name)
      entries.push_back({"40000", std::string(1, name), tree});
    tree = repository_.raw_tree(entries);
  }
  EXPECT_EQ(code_of(take_commit(repository_.commit(tests::tree_id(tree), {base_}))), "too_large");

  std::string deep = repository_.raw_tree({{"100644", "f", repository_.blob("x\n")}});
  for (int level = 0; level < 70; ++level) deep = repository_.raw_tree({{"40000", "d", deep}});
  EXPECT_EQ(code_of(take_commit(repository_.commit(tests::tree_id(deep), {base_}))), "too_large");

  // 2 MiB a thousand times over.
  const std::string large = repository_.blob(std::string(2U << 20U, 'x'));
  std::vector<GitEntry> many;
  for (int i = 1000; i < 2000; ++i) many.push_back({"100644", std::to_string(i), large});
  EXPECT_EQ(code_of(take_commit(commit_of(many))), "too_large");
}

TEST_F(IngestCommit, WritesTreesAsGitMeansThem) {
  GitFiles files = base_files();
  files["src/up"] = {"../../../../etc/passwd", "120000"};
  files["src/root"] = {"/etc", "120000"};
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  ASSERT_EQ(code_of(result), "");
  for (const tasks::TreeId& tree : {result.base_tree, result.tree}) {
    const os::Result<tasks::TreeId> computed = tasks::ingest::tree_id(out("trees/" + tree.hex()));
    ASSERT_TRUE(computed) << computed.error().message;
    EXPECT_EQ(*computed, tree);
  }
  const std::string root = out("trees/" + result.tree.hex());
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    struct stat status{};
    ASSERT_EQ(::lstat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mtime, tasks::ingest::kFileTime) << entry.path();
    const mode_t mode = status.st_mode & 07777U;
    const bool runs = S_ISDIR(status.st_mode) || entry.path().filename() == "run.sh";
    if (!S_ISLNK(status.st_mode)) {
      EXPECT_EQ(mode, runs ? 0755U : 0644U) << entry.path();
    }
  }
  EXPECT_EQ(fs::read_symlink(root + "/src/root"), "/etc");
}

TEST_F(IngestCommit, WritesNoTreeThatIsThereAlready) {
  GitFiles files = base_files();
  files["src/x.cc"] = {"x\n"};
  tasks::IngestSpec asked = spec();
  asked.source = tasks::IngestSpec::Source::commit;
  asked.commit = repository_.commit(files, {base_});
  asked.have_trees = {repository_.tree(base_files())};
  const tasks::IngestResult result = take(asked);
  EXPECT_FALSE(fs::exists(out("trees/" + result.base_tree.hex())));
  EXPECT_TRUE(fs::exists(out("trees/" + result.tree.hex())));
}

TEST_F(IngestCommit, MixesTheBasesGuardedFilesWithTheChangesSubject) {
  GitFiles files = base_files();
  files["src/lib.cc"].content = "changed\n";         // subject
  files["src/new.cc"] = {"new\n", "100755"};         // subject
  files.erase("src/other.cc");                       // subject
  files["tests/lib_test.cc"].content = "weaker\n";   // guarded
  files["tests/more_test.cc"] = {"more\n"};          // guarded
  files["proofhouse.yaml"].content += "# weaker\n";  // guarded
  files.erase("README.md");                          // guarded
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  ASSERT_EQ(code_of(result), "");
  EXPECT_EQ(result.guarded, (std::vector<std::string>{"README.md", "proofhouse.yaml",
                                                      "tests/lib_test.cc", "tests/more_test.cc"}));
  GitFiles mixed = base_files();
  mixed["src/lib.cc"] = files["src/lib.cc"];
  mixed["src/new.cc"] = files["src/new.cc"];
  mixed.erase("src/other.cc");
  ASSERT_TRUE(result.mixed_tree);
  EXPECT_EQ(*result.mixed_tree, repository_.tree(mixed));
  const os::Result<tasks::TreeId> computed =
      tasks::ingest::tree_id(out("trees/" + result.mixed_tree->hex()));
  ASSERT_TRUE(computed) << computed.error().message;
  EXPECT_EQ(*computed, *result.mixed_tree);
}

TEST_F(IngestCommit, GuardsBothNamesOfARename) {
  GitFiles files = base_files();
  files["src/taken.cc"] = files["tests/lib_test.cc"];
  files.erase("tests/lib_test.cc");
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  ASSERT_EQ(result.diff.files.size(), 1U);
  EXPECT_EQ(result.diff.files[0].status, 'R');
  EXPECT_EQ(result.diff.files[0].old_path, "tests/lib_test.cc");
  EXPECT_EQ(result.guarded, std::vector<std::string>{"tests/lib_test.cc"});
}

TEST_F(IngestCommit, RefusesAMixThatCannotBe) {
  GitFiles files = base_files();
  files.erase("src/other.cc");
  // A policy that frees src only below its directories.
  files = base_files();
  files["proofhouse.yaml"].content =
      "version: 1\nsubject: [src/*/**]\nsteps:\n  test: {run: x, report: {tap: t}}\n"
      "gates:\n  tests: {kind: tests, steps: [test]}\n";
  base_ = repository_.commit(files);
  files.erase("src/other.cc");
  files["src/other.cc/below.cc"] = {"x\n"};
  expect_refused(repository_.commit(files, {base_}), "guarded_conflict", "src/other.cc/below.cc");
}

TEST_F(IngestCommit, TakesThePolicyOfTheTipNotOfTheChange) {
  GitFiles files = base_files();
  files["proofhouse.yaml"].content = "version: 1\nsubject: ['**']\n";
  files["README.md"].content = "x\n";
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  EXPECT_EQ(result.guarded, (std::vector<std::string>{"README.md", "proofhouse.yaml"}));
}

TEST_F(IngestCommit, RefusesAMissingOrInvalidPolicy) {
  GitFiles files = base_files();
  files.erase("proofhouse.yaml");
  base_ = repository_.commit(files);
  EXPECT_EQ(code_of(take_commit(base_)), "policy_missing");

  tasks::IngestSpec asked = spec();
  asked.source = tasks::IngestSpec::Source::commit;
  asked.commit = base_;
  asked.is_policy_optional = true;
  const tasks::IngestResult optional = take(asked);
  EXPECT_EQ(code_of(optional), "");
  EXPECT_EQ(optional.policy_sha256, "");
  EXPECT_FALSE(fs::exists(out("policy.json")));

  asked.policy_file = "in/policy.yaml";
  ASSERT_TRUE(os::write_file_durably(in("policy.yaml"), tests::kPolicy));
  EXPECT_EQ(code_of(take(asked)), "");
  EXPECT_TRUE(fs::exists(out("policy.json")));

  files["proofhouse.yaml"] = {"version: 1\nstepz: {}\n"};
  base_ = repository_.commit(files);
  const tasks::IngestResult invalid = take_commit(base_);
  ASSERT_EQ(code_of(invalid), "policy_invalid");
  EXPECT_NE(invalid.refusal->detail.find("proofhouse.yaml:2:1"), std::string::npos)
      << invalid.refusal->detail;
  files["proofhouse.yaml"] = {"README.md", "120000"};
  base_ = repository_.commit(files);
  EXPECT_EQ(code_of(take_commit(base_)), "policy_invalid");
}

TEST_F(IngestCommit, RefusesARepositoryThatBorrowsObjects) {
  ASSERT_TRUE(os::make_directories(repository_.path() + "/objects/info"));
  std::ofstream(repository_.path() + "/objects/info/alternates") << "/etc\n";
  const os::Result<git::Repository> opened = git::Repository::open_objects(repository_.path());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, os::Code::denied);
}

TEST_F(IngestCommit, LetsNoAttributeHideAChange) {
  GitFiles files = base_files();
  files[".gitattributes"] = {"* -diff binary\n"};
  files["src/.gitattributes"] = {"* -diff binary\n"};
  base_ = repository_.commit(files);
  repository_.set("refs/heads/main", base_);
  files["src/lib.cc"].content = "shown to reviewers\n";
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  ASSERT_EQ(result.diff.files.size(), 1U);
  EXPECT_FALSE(result.diff.files[0].binary);
  EXPECT_NE(read_out("diff.patch").find("+shown to reviewers\n"), std::string::npos);
}

TEST_F(IngestCommit, CutsALongDiffAndSaysSo) {
  GitFiles files = base_files();
  std::string text;
  for (int i = 0; i < 700'000; ++i) text += std::to_string(i) + "\n";
  files["src/long.txt"] = {text};
  const tasks::IngestResult result = take_commit(repository_.commit(files, {base_}));
  ASSERT_EQ(code_of(result), "");
  const std::string diff = read_out("diff.patch");
  EXPECT_LE(diff.size(), (4U << 20U) + 100U);
  EXPECT_NE(diff.rfind("[cut: "), std::string::npos);
  EXPECT_EQ(result.diff.files[0].added, 700'000);
  // The same as lines has a bound of its own, and says what is left out.
  const auto view = tasks::diff_view_from_json(read_out("diff.json"));
  ASSERT_TRUE(view.has_value()) << view.error().message;
  ASSERT_EQ(view->files.size(), 1U);
  const auto shown = static_cast<std::int64_t>(view->files[0].hunks[0].lines.size());
  EXPECT_GT(shown, 50'000);
  EXPECT_EQ(shown + view->files[0].cut, 700'000);
}

TEST_F(IngestCommit, ShowsAChangeAsLines) {
  GitFiles files = base_files();
  files["src/lib.cc"].content = "caf\xe9 \xff\n" + std::string(3000, 'x') + "\nlast";
  ASSERT_EQ(code_of(take_commit(repository_.commit(files, {base_}))), "");
  const auto view = tasks::diff_view_from_json(read_out("diff.json"));
  ASSERT_TRUE(view.has_value()) << view.error().message;
  ASSERT_EQ(view->files.size(), 1U);
  EXPECT_EQ(view->files[0].path, "src/lib.cc");
  ASSERT_EQ(view->files[0].hunks.size(), 1U);
  std::vector<std::string> added;
  for (const std::string& line : view->files[0].hunks[0].lines)
    if (line.front() != '-' && line.front() != ' ') added.push_back(line);
  EXPECT_EQ(added, (std::vector<std::string>{"+caf\uf7e9 \uf7ff", "+" + std::string(2000, 'x'),
                                             "~1000", "+last", "\\"}));
}

class IngestRebase : public IngestCommit {
 protected:
  tasks::IngestResult rebase(const tasks::CommitId& commit, const tasks::CommitId& onto) {
    tasks::IngestSpec asked = spec();
    asked.source = tasks::IngestSpec::Source::rebase;
    asked.commit = commit;
    asked.onto = onto;
    asked.tip = onto;
    return take(asked);
  }
};

TEST_F(IngestRebase, KeepsMessageAuthorAndDiffOfACleanOne) {
  GitFiles files = base_files();
  files["src/lib.cc"].content = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\nfifteen\n16\n";
  const tasks::CommitId first = repository_.commit(files, {base_}, "First\n\nWhy.\n");
  files["src/new.cc"] = {"new\n"};
  const tasks::CommitId second = repository_.commit(files, {first}, "Second\n");
  GitFiles moved = base_files();
  moved["src/lib.cc"].content = "0\n" + moved["src/lib.cc"].content;
  moved["README.md"].content = "# Moved\n";
  const tasks::CommitId onto = repository_.commit(moved, {base_});

  const tasks::IngestResult before = take_commit(second);
  const tasks::IngestResult after = rebase(second, onto);
  ASSERT_EQ(code_of(after), "");
  EXPECT_EQ(after.base, onto);
  EXPECT_EQ(after.diff.digest, before.diff.digest);
  EXPECT_NE(after.candidate, before.candidate);
  EXPECT_EQ(rebase(second, onto).candidate, after.candidate);
  moved["src/lib.cc"].content = "0\n" + files["src/lib.cc"].content;
  moved["src/new.cc"] = files["src/new.cc"];
  EXPECT_EQ(after.tree, repository_.tree(moved));

  os::Result<git::Repository> repository = git::Repository::open_objects(repository_.path());
  ASSERT_TRUE(repository && repository->add_pack(out("candidate.idx")));
  git::Refuser refuser;
  const auto commits = git::commits_between(*repository, onto, after.candidate, 10, refuser);
  ASSERT_TRUE(commits && commits->size() == 2U);
  const std::string bytes = repository->read((*commits)[0].id.hex())->bytes;
  EXPECT_NE(bytes.find("author A U Thor <author@example.com> 1600000000 +0100\n"), bytes.npos);
  EXPECT_NE(bytes.find("\n\nFirst\n\nWhy.\n"), bytes.npos);
}

TEST_F(IngestRebase, RefusesAConflictByItsPath) {
  GitFiles files = base_files();
  files["src/other.cc"].content = "int mine;\n";
  GitFiles moved = base_files();
  moved["src/other.cc"].content = "int theirs;\n";
  const tasks::IngestResult result =
      rebase(repository_.commit(files, {base_}), repository_.commit(moved, {base_}));
  ASSERT_EQ(code_of(result), "rebase_conflict");
  EXPECT_EQ(result.refusal->path, "src/other.cc");
}

TEST_F(IngestRebase, GivesAnotherDigestWhenTheContextChanged) {
  GitFiles files = base_files();
  files["src/lib.cc"].content = "1\n2\n3\n4\n5\n6\n7\neight\n9\n10\n11\n12\n13\n14\n15\n16\n";
  GitFiles moved = base_files();
  moved["src/lib.cc"].content = "1\n2\n3\n4\n5\nsix\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n";
  const tasks::CommitId change = repository_.commit(files, {base_});
  const tasks::IngestResult before = take_commit(change);
  const tasks::IngestResult after = rebase(change, repository_.commit(moved, {base_}));
  ASSERT_EQ(code_of(after), "");
  EXPECT_NE(after.diff.digest, before.diff.digest);
}

TEST_F(IngestRebase, RefusesAMerge) {
  GitFiles files = base_files();
  files["src/a.cc"] = {"a\n"};
  const tasks::CommitId one = repository_.commit(files, {base_});
  const tasks::CommitId merge = repository_.commit(files, {base_, one});
  GitFiles moved = base_files();
  moved["README.md"].content = "# Moved\n";
  EXPECT_EQ(code_of(rebase(merge, repository_.commit(moved, {base_}))), "rebase_conflict");
}

class TreeIdOfADirectory : public IngestTest {
 protected:
  os::TempDir directory_ = *os::TempDir::create();
  void expect_refused(const std::string& why) {
    const os::Result<tasks::TreeId> id = tasks::ingest::tree_id(directory_.path());
    ASSERT_FALSE(id) << why;
    EXPECT_NE(id.error().message.find(why), std::string::npos) << id.error().message;
  }
};

TEST_F(TreeIdOfADirectory, RefusesSpecialFiles) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0644), 0);
  expect_refused("special file");
}

TEST_F(TreeIdOfADirectory, RefusesOtherModes) {
  std::ofstream(directory_ / "f") << "x";
  ASSERT_EQ(::chmod((directory_ / "f").c_str(), 04755), 0);
  expect_refused("neither 0644 nor 0755");
}

TEST_F(TreeIdOfADirectory, RefusesFilesWithTwoNames) {
  std::ofstream(directory_ / "f") << "x";
  ASSERT_EQ(::chmod((directory_ / "f").c_str(), 0644), 0);
  ASSERT_EQ(::link((directory_ / "f").c_str(), (directory_ / "g").c_str()), 0);
  expect_refused("one name");
}

TEST_F(TreeIdOfADirectory, SortsAsGitDoes) {
  GitFiles files{{"a.b", {"1"}},
                 {"a/x", {"2"}},
                 {"a-b", {"3"}},
                 {"a0", {"4", "100755"}},
                 {"l", {"a/x", "120000"}}};
  const tasks::TreeId tree = repository_.tree(files);
  os::Result<git::Repository> repository = git::Repository::open_objects(repository_.path());
  ASSERT_TRUE(repository);
  git::Refuser refuser;
  const os::Result<void> written =
      tasks::ingest::write_tree(*repository, tree, directory_ / "t", refuser);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*tasks::ingest::tree_id(directory_ / "t"), tree);
  // What stands there already is not written into.
  EXPECT_FALSE(tasks::ingest::write_tree(*repository, tree, directory_ / "t", refuser));
}

}  // namespace
