// Patches as `ingest take` takes them in.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>

#include "tasks/git_diff.h"
#include "tests/tasks/ingest_fixture.h"

namespace {

namespace git = tasks::git;
using tests::GitFiles;
using tests::IngestTest;

class IngestPatch : public IngestTest {};

// What a test does to the base's files.
struct Edit {
  std::string name;
  std::function<void(GitFiles&)> apply;
};

std::vector<Edit> edits() {
  return {
      {"changed lines", [](GitFiles& f) { f["src/lib.cc"].content = "1\n2\n3\n4\nfive\n6\n"; }},
      {"new file", [](GitFiles& f) { f["src/new/deep/x.cc"] = {"int x;\n"}; }},
      {"new program", [](GitFiles& f) { f["src/go.sh"] = {"#!/bin/sh\n", "100755"}; }},
      {"new empty files", [](GitFiles& f) { f["a1"] = f["a2"] = {""}; }},
      {"removed file", [](GitFiles& f) { f.erase("src/lib.cc"); }},
      {"removed empty file", [](GitFiles& f) { f.erase("empty"); }},
      {"mode", [](GitFiles& f) { f["src/lib.cc"].mode = "100755"; }},
      {"mode and lines", [](GitFiles& f) { f["run.sh"] = {"#!/bin/sh\necho two\n"}; }},
      {"program stays one", [](GitFiles& f) { f["run.sh"].content += "echo three\n"; }},
      {"carriage returns", [](GitFiles& f) { f["crlf.txt"].content = "a\r\nB\r\nc\r\n"; }},
      {"no newline at the end", [](GitFiles& f) { f["open.txt"].content = "one\n2"; }},
      {"newline at the end added", [](GitFiles& f) { f["open.txt"].content = "one\ntwo\n"; }},
      {"newline at the end removed", [](GitFiles& f) { f["README.md"].content = "# A project"; }},
      {"binary", [](GitFiles& f) { f["data.bin"].content = std::string("\0\1other\0", 8); }},
      {"new binary", [](GitFiles& f) { f["more.bin"].content = std::string(4000, '\0') + "x"; }},
      {"removed binary", [](GitFiles& f) { f.erase("data.bin"); }},
      {"link becomes a file", [](GitFiles& f) { f["link"] = {"text\n"}; }},
      {"file becomes a link", [](GitFiles& f) { f["open.txt"] = {"src/lib.cc", "120000"}; }},
      {"link elsewhere", [](GitFiles& f) { f["link"].content = "/etc/passwd"; }},
      {"file becomes a directory",
       [](GitFiles& f) {
         f.erase("open.txt");
         f["open.txt/a"] = {"x\n"};
       }},
      {"spaces and letters", [](GitFiles& f) { f["a b/c d.txt"] = f["\u00e9\"q.txt"] = {"x\n"}; }},
      {"many at once",
       [](GitFiles& f) {
         f["zz"] = {""};
         f.erase("empty");
         f["src/other.cc"].content = "int another;\n";
       }},
  };
}

TEST_F(IngestPatch, TakesWhatMakePatchWrites) {
  const os::Result<git::Repository> opened = git::Repository::open(repository_.path());
  ASSERT_TRUE(opened) << opened.error().message;
  for (const Edit& edit : edits()) {
    SCOPED_TRACE(edit.name);
    GitFiles files = base_files();
    edit.apply(files);
    const tasks::CommitId wanted = repository_.commit(files, {base_});
    const os::Result<std::string> patch = git::make_patch(*opened, base_, wanted, 1U << 20U);
    ASSERT_TRUE(patch) << patch.error().message;
    const tasks::IngestResult result = take_patch(*patch);
    EXPECT_EQ(code_of(result), "") << (result.refusal ? result.refusal->detail : "") << *patch;
    EXPECT_EQ(result.tree, repository_.tree(files)) << *patch;
  }
}

// A patch by hand against the base, and the base's files after it.
struct Written {
  std::string name;
  std::string patch;
  std::function<void(GitFiles&)> apply;
};

// As diff(1) writes them, and by hand.
std::vector<Written> plain_patches() {
  return {
      {"without git's header",
       "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A project\n+x\n",
       [](GitFiles& f) { f["README.md"].content += "x\n"; }},
      {"without prefixes, with times",
       "--- src/other.cc\t2024-01-01 00:00:00\n+++ src/other.cc\t2024-01-02 00:00:00\n"
       "@@ -1 +1 @@\n-int other;\n+int o;\n",
       [](GitFiles& f) { f["src/other.cc"].content = "int o;\n"; }},
      {"of two directories",
       "diff -u old/src/other.cc new/src/other.cc\n--- old/src/other.cc\n+++ new/src/other.cc\n"
       "@@ -1 +1 @@\n-int other;\n+int o;\n",
       [](GitFiles& f) { f["src/other.cc"].content = "int o;\n"; }},
      {"new file", "--- /dev/null\n+++ b/src/n.cc\n@@ -0,0 +1,2 @@\n+a\n+b\n",
       [](GitFiles& f) { f["src/n.cc"] = {"a\nb\n"}; }},
      {"new file as diff -uN says it",
       "--- a/src/n.cc\t1970-01-01 00:00:00\n+++ b/src/n.cc\t2024-01-01 00:00:00\n@@ -0,0 +1 "
       "@@\n+a\n",
       [](GitFiles& f) { f["src/n.cc"] = {"a\n"}; }},
      {"removed file", "--- a/src/other.cc\n+++ /dev/null\n@@ -1 +0,0 @@\n-int other;\n",
       [](GitFiles& f) { f.erase("src/other.cc"); }},
      {"a program keeps its mode",
       "--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo one\n+echo 1\n",
       [](GitFiles& f) { f["run.sh"].content = "#!/bin/sh\necho 1\n"; }},
      {"two files, and lines that look like headers",
       "--- a/README.md\n+++ b/README.md\n@@ -1 +1,3 @@\n # A project\n+-- x\n++++ y\n"
       "--- a/open.txt\n+++ b/open.txt\n@@ -1,2 +1,2 @@\n-one\n+--- a\n two\n"
       "\\ No newline at end of file\n",
       [](GitFiles& f) {
         f["README.md"].content += "-- x\n+++ y\n";
         f["open.txt"].content = "--- a\ntwo";
       }},
      {"hunks that stand elsewhere",
       "--- a/src/lib.cc\n+++ b/src/lib.cc\n@@ -1,3 +1,4 @@\n 4\n 5\n+five and a half\n 6\n"
       "@@ -9,3 +10,2 @@\n 12\n-13\n 14\n",
       [](GitFiles& f) {
         f["src/lib.cc"].content =
             "1\n2\n3\n4\n5\nfive and a half\n6\n7\n8\n9\n10\n11\n12\n14\n15\n16\n";
       }},
      {"no context",
       "--- a/src/lib.cc\n+++ b/src/lib.cc\n@@ -3,2 +2,0 @@\n-3\n-4\n@@ -6,0 +5 @@\n+six and a "
       "half\n",
       [](GitFiles& f) {
         f["src/lib.cc"].content =
             "1\n2\n5\n6\nsix and a half\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n";
       }},
  };
}

// As git writes them.
std::vector<Written> git_patches() {
  return {
      {"a rename with changes",
       "diff --git a/src/lib.cc b/src/m b.cc\nsimilarity index 90%\nrename from src/lib.cc\n"
       "rename to src/m b.cc\n--- a/src/lib.cc\n+++ b/src/m b.cc\t\n@@ -1,2 +1,2 @@\n-1\n+one\n "
       "2\n",
       [](GitFiles& f) {
         f["src/m b.cc"] = {"one" + f["src/lib.cc"].content.substr(1)};
         f.erase("src/lib.cc");
       }},
      {"a mode with changes",
       "diff --git a/run.sh b/run.sh\nold mode 100755\nnew mode 100644\n--- a/run.sh\n+++ "
       "b/run.sh\n"
       "@@ -1,2 +1 @@\n #!/bin/sh\n-echo one\n",
       [](GitFiles& f) { f["run.sh"] = {"#!/bin/sh\n"}; }},
      {"two that change names",
       "diff --git a/README.md b/open.txt\nsimilarity index 100%\nrename from README.md\n"
       "rename to open.txt\ndiff --git a/open.txt b/README.md\nsimilarity index 100%\n"
       "rename from open.txt\nrename to README.md\n",
       [](GitFiles& f) { std::swap(f["README.md"], f["open.txt"]); }},
      {"a mail of format-patch",
       "From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] x\n\n---\n README.md | "
       "1 +\n"
       " 1 file changed\n\ndiff --git a/README.md b/README.md\nindex 1111111..2222222 100644\n"
       "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A project\n+x\n-- \n2.39.5\n\n",
       [](GitFiles& f) { f["README.md"].content += "x\n"; }},
  };
}

TEST_F(IngestPatch, TakesPatchesWrittenByHand) {
  std::vector<Written> patches = plain_patches();
  std::ranges::move(git_patches(), std::back_inserter(patches));
  for (const Written& written : patches) {
    SCOPED_TRACE(written.name);
    GitFiles files = base_files();
    written.apply(files);
    const tasks::IngestResult result = take_patch(written.patch);
    EXPECT_EQ(code_of(result), "") << (result.refusal ? result.refusal->detail : "");
    EXPECT_EQ(result.tree, repository_.tree(files)) << read_out("diff.patch");
  }
}

struct Refused {
  std::string patch;
  std::string code;
  std::string path;
  std::string detail;  // a part of it
};

std::string new_file(const std::string& path, const std::string& mode = "100644") {
  return "diff --git a/" + path + " b/" + path + "\nnew file mode " + mode +
         "\n--- /dev/null\n+++ b/" + path + "\n@@ -0,0 +1 @@\n+x\n";
}

std::vector<Refused> refused_patches() {
  const std::string readme = "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A project\n+x\n";
  return {
      {"", "empty_patch", "", ""},
      {"hello\n", "invalid_patch", "", "no patch found"},
      {"--- a/README.md\n+++ b/README.md\n@@ -1,9 +1,2 @@\n # A project\n+x\n", "invalid_patch", "",
       "expected 9 old lines"},
      {readme + readme, "invalid_patch", "README.md", "twice"},
      {"diff --git a/data.bin b/data.bin\nindex 1111111..2222222 100644\n"
       "Binary files a/data.bin and b/data.bin differ\n",
       "invalid_patch", "data.bin", "--binary"},
      {"diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", "empty_patch", "",
       "as it is"},
      {new_file("../evil"), "invalid_path", "../evil", "'..'"},
      {new_file("src/.git/hooks/post-checkout"), "invalid_path", "src/.git/hooks/post-checkout",
       ".git"},
      {new_file(".GIT/config"), "invalid_path", ".GIT/config", ".git"},
      {new_file("git~1"), "invalid_path", "git~1", ".git"},
      {new_file("s", "104755"), "invalid_mode", "s", "100755"},
      {new_file("s", "100666"), "invalid_mode", "s", "100755"},
      {new_file("s", "160000"), "invalid_mode", "s", "not supported yet"},
      {new_file("README.md"), "patch_conflict", "README.md", "already"},
      {new_file("link/evil"), "patch_conflict", "link", "without naming it"},
      {new_file("README.md/x"), "patch_conflict", "README.md", "without naming it"},
      {"--- a/none.txt\n+++ b/none.txt\n@@ -1 +1 @@\n-a\n+b\n", "patch_conflict", "none.txt",
       "no such file"},
      {"--- a/link\n+++ b/link\n@@ -1 +1 @@\n-src\n\\ No newline at end of file\n+/etc\n"
       "\\ No newline at end of file\n",
       "patch_conflict", "link", "symbolic link"},
      {"--- a/src/lib.cc\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n", "patch_conflict", "src/lib.cc",
       "does not remove"},
      {"--- a/crlf.txt\n+++ b/crlf.txt\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "patch_conflict",
       "crlf.txt", "ends with CR"},
  };
}

TEST_F(IngestPatch, RefusesByCodeAndPath) {
  for (const Refused& refused : refused_patches()) {
    SCOPED_TRACE(refused.patch);
    const tasks::IngestResult result = take_patch(refused.patch);
    ASSERT_TRUE(result.refusal) << read_out("diff.patch");
    EXPECT_EQ(result.refusal->code, refused.code) << result.refusal->detail;
    EXPECT_EQ(result.refusal->path, refused.path);
    EXPECT_NE(result.refusal->detail.find(refused.detail), std::string::npos)
        << result.refusal->detail;
    EXPECT_FALSE(std::filesystem::exists(out("candidate.pack")));
  }
}

TEST_F(IngestPatch, NamesTheHunkAndTheNearestMatch) {
  const tasks::IngestResult result = take_patch(
      "--- a/src/lib.cc\n+++ b/src/lib.cc\n@@ -9,4 +9,4 @@ void f()\n 5\n 6\n-VII\n+seven\n 8\n");
  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->code, "patch_conflict");
  EXPECT_EQ(result.refusal->path, "src/lib.cc");
  EXPECT_EQ(result.refusal->line, 7);
  EXPECT_EQ(result.refusal->detail,
            "hunk @@ -9,4 +9,4 @@ does not apply: nearest match at line 5: 3 of 4 lines; line 7 "
            "should be 'VII' and is '7'");
}

TEST_F(IngestPatch, CountsLinesOfThePostedPatch) {
  // The header that is added before the second file must not move the number.
  const tasks::IngestResult result = take_patch(
      "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n # A project\n+x\n"
      "--- a/open.txt\n+++ b/open.txt\nrubbish\n@@ -1,1 +1,2 @@\n one\n+x\n");
  ASSERT_TRUE(result.refusal);
  EXPECT_EQ(result.refusal->code, "invalid_patch");
  EXPECT_EQ(result.refusal->line, 8) << result.refusal->detail;
}

TEST_F(IngestPatch, MakesTheSameCommitAgain) {
  const std::string patch = new_file("src/x.cc");
  const tasks::IngestResult first = take_patch(patch);
  const tasks::IngestResult second = take_patch(patch);
  EXPECT_EQ(first, second);
  const os::Result<git::Repository> quarantine = git::Repository::open_objects(repository_.path());
  ASSERT_TRUE(quarantine);
  git::Repository repository =
      std::move(const_cast<os::Result<git::Repository>&>(quarantine).value());
  ASSERT_TRUE(repository.add_pack(out("candidate.idx")));
  const os::Result<git::Object> commit = repository.read(first.candidate.hex());
  ASSERT_TRUE(commit) << commit.error().message;
  EXPECT_EQ(commit->bytes, "tree " + first.tree.hex() + "\nparent " + base_.hex() +
                               "\nauthor alice <alice@proofhouse.invalid> 1700000000 +0000\n"
                               "committer alice <alice@proofhouse.invalid> 1700000000 +0000\n\n"
                               "Make it better\n\nProofhouse-Task: t_1\n");
}

TEST_F(IngestPatch, KeepsTheTitleToOneLine) {
  os::Result<void> written = os::write_file_durably(in("change.patch"), new_file("src/x.cc"));
  ASSERT_TRUE(written);
  tasks::IngestSpec asked = spec();
  asked.patch_file = "in/change.patch";
  asked.title = "one\n\nProofhouse-Task: t_other\n";
  const tasks::IngestResult result = take(asked);
  ASSERT_EQ(code_of(result), "");
  os::Result<git::Repository> repository = git::Repository::open_objects(repository_.path());
  ASSERT_TRUE(repository && repository->add_pack(out("candidate.idx")));
  EXPECT_NE(repository->read(result.candidate.hex())
                ->bytes.find("\n\none  Proofhouse-Task: t_other\n\nProofhouse-Task: t_1\n"),
            std::string::npos);
}

}  // namespace
