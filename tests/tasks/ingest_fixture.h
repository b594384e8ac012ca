#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tasks/plan.h"
#include "tests/tasks/git_fixture.h"

namespace tests {

// A policy whose subject is src/**.
inline constexpr std::string_view kPolicy =
    "version: 1\n"
    "subject: [src/**]\n"
    "steps:\n"
    "  test: {run: make test, report: {tap: out.tap}}\n"
    "gates:\n"
    "  tests: {kind: tests, steps: [test]}\n";

// One project with a base commit, and `ingest take` in this process.
class IngestTest : public testing::Test {
 protected:
  IngestTest();

  // What the next take is asked; `base` and `tip` are the base commit.
  tasks::IngestSpec spec();
  tasks::IngestResult take(const tasks::IngestSpec& spec);
  tasks::IngestResult take_patch(std::string_view patch);
  tasks::IngestResult take_commit(const tasks::CommitId& commit);
  // The refusal's code; "" if it was taken.
  static std::string code_of(const tasks::IngestResult& result);
  // A file below /in or /out of the last take.
  std::string in(std::string_view name) const { return inputs_ / name; }
  std::string out(std::string_view name) const { return *outputs_ / name; }
  std::string read_out(std::string_view name) const;
  // Paths of a tree as it was written to /out, with contents ("-> target" for links).
  std::vector<std::string> written(const tasks::TreeId& tree) const;

  static GitFiles base_files();

  os::TempDir inputs_;
  std::optional<os::TempDir> outputs_;
  GitRepository repository_;
  tasks::CommitId base_;
};

}  // namespace tests
