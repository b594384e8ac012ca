// Project: the files of a commit as saboteurs see them, and which functions are worth breaking.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tasks/git.h"
#include "tasks/policy.h"
#include "tasks/source_tokens.h"

namespace runner::prove {

struct ProjectFile {
  std::string path;
  std::string text;
  bool is_guarded = false;
  std::optional<tasks::SourceLanguage> language;
};

// A value: functions below point into its texts, so it must not be copied while they are used.
struct Project {
  tasks::CommitId commit;
  tasks::Policy policy;
  std::vector<ProjectFile> files;

  const ProjectFile* find(const std::string& path) const;
};

// Reads the regular files of the commit that are text of at most 256 KiB each; at most 5,000 files
// and 64 MiB of text (exhausted).
os::Result<Project> read_project(const tasks::git::Repository& repository,
                                 const tasks::CommitId& commit, tasks::Policy policy);

// A function of a file that changes may edit freely.
struct Target {
  const ProjectFile* file = nullptr;
  tasks::SourceFunction function;
};

// At most `limit`, those that most guarded files mention first. Functions in headers, in files with
// tests and those that a compiler may run are none.
std::vector<Target> find_targets(const Project& project, std::size_t limit);

// The file with the project's tests that mentions the target, or else any with tests; nullptr:
// there is none of a form that is known (GoogleTest, functions test… of Python).
const ProjectFile* find_tests(const Project& project, const Target& target);

// The bytes at which the bodies of a file's tests begin, in order; with what a statement there has
// to begin with.
struct TestBody {
  std::size_t at = 0;
  std::string_view indent;
};
std::vector<TestBody> test_bodies(const ProjectFile& file);

}  // namespace runner::prove
