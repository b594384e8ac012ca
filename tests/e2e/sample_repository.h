// SampleRepository: a small project of shell scripts, as a real git repository.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tests {

// Path in the tree → new content; a path without content is deleted.
using FileEdits = std::map<std::string, std::string>;

// Runs a program of the host to its end and gives what it printed; throws std::runtime_error with
// its words when it fails.
std::string run_program(const std::vector<std::string>& command,
                        const std::string& directory = "/");

// A bare repository with the branch main, which belongs to `owner`, and a checkout beside it.
//
//   src/{left,right}.txt    what the change edits: the word "good" in each
//   src/notes.txt           ten lines
//   checks/run.sh           one TAP test for each of left and right: Words.left, Words.right
//   proofhouse.yaml         gates: tests (in-process), size (diff); one approval
class SampleRepository {
 public:
  SampleRepository(std::string directory, unsigned owner);

  // "<directory>/sample.git"
  std::string path() const { return directory_ + "/sample.git"; }
  std::string checkout() const { return directory_ + "/checkout"; }
  // What main points to, or `suffix` of it ("^", "^{tree}").
  std::string tip(const std::string& suffix = {}) const;
  // Commits from `from` (not counted) to the tip.
  int commits_since(const std::string& from) const;
  // A patch on the tip as `git diff --binary --full-index` makes it.
  std::string patch(const FileEdits& edits) const;
  // A commit on the tip that exists in the checkout alone; its id.
  std::string commit(const FileEdits& edits, const std::string& subject) const;
  // Moves main by such a commit, as somebody would who pushes past us; the new tip.
  std::string advance(const FileEdits& edits) const;

 private:
  std::string git(const std::vector<std::string>& arguments) const;
  void follow_tip() const;
  void write(const FileEdits& edits) const;
  void own() const;

  std::string directory_;
  unsigned owner_;
};

}  // namespace tests
