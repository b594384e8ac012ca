#include "runner/prove/project.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/git_files.h"

namespace runner::prove {
namespace {

using tasks::SourceLanguage;
using tasks::SourceToken;

constexpr std::size_t kMostFiles = 5'000;
constexpr std::size_t kMostText = 64U << 20U;
constexpr std::size_t kLargestFile = 256U << 10U;

// The words of a source, each once; of files that are no source none.
std::set<std::string_view> words_of(const ProjectFile& file) {
  std::set<std::string_view> words;
  if (!file.language) return words;
  for (const SourceToken& token : tasks::source_tokens(file.text, *file.language))
    if (token.kind == SourceToken::Kind::name) words.insert(token.spelling);
  return words;
}

bool is_test_macro(const SourceToken& token) {
  constexpr std::array<std::string_view, 4> kMacros{"TEST", "TEST_F", "TEST_P", "TYPED_TEST"};
  return std::ranges::find(kMacros, token.spelling) != kMacros.end();
}

std::vector<TestBody> gtest_bodies(const ProjectFile& file) {
  const std::vector<SourceToken> tokens = tasks::source_tokens(file.text, *file.language);
  std::vector<TestBody> bodies;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (!is_test_macro(tokens[i]) || !tokens[i + 1].is("(")) continue;
    const std::size_t body = tasks::closing_bracket(tokens, i + 1) + 1;
    if (body < tokens.size() && tokens[body].is("{")) bodies.push_back({tokens[body].end(), " "});
  }
  return bodies;
}

}  // namespace

const ProjectFile* Project::find(const std::string& path) const {
  const auto found = std::ranges::find(files, path, &ProjectFile::path);
  return found == files.end() ? nullptr : &*found;
}

os::Result<Project> read_project(const tasks::git::Repository& repository,
                                 const tasks::CommitId& commit, tasks::Policy policy) {
  Project project{.commit = commit, .policy = std::move(policy), .files = {}};
  const tasks::TreeId tree = TRY(repository.commit(commit)).tree;
  std::size_t total = 0;
  for (const auto& entry : TRY(tasks::git::list_files(repository, tree, kMostFiles))) {
    if (TRY(repository.read_header(entry.id)).size > kLargestFile) continue;
    std::string text = TRY(repository.read(entry.id)).bytes;
    if (text.contains('\0')) continue;
    total += text.size();
    if (total > kMostText) return os::fail(os::Code::exhausted, "over 64 MiB of text");
    project.files.push_back({.path = entry.path,
                             .text = std::move(text),
                             .is_guarded = tasks::is_guarded(project.policy, entry.path),
                             .language = tasks::source_language(entry.path)});
  }
  return project;
}

std::vector<Target> find_targets(const Project& project, std::size_t limit) {
  std::vector<std::pair<std::size_t, Target>> ranked;
  std::map<std::string_view, std::size_t> mentions;
  for (const ProjectFile& file : project.files)
    if (file.is_guarded)
      for (const std::string_view word : words_of(file)) ++mentions[word];
  for (const ProjectFile& file : project.files) {
    if (file.is_guarded || !file.language || tasks::is_header(file.path)) continue;
    // Where a project leaves its tests unguarded they are no targets, but what they test is.
    if (!test_bodies(file).empty()) continue;
    for (const tasks::SourceFunction& function : tasks::source_functions(file.text, *file.language))
      if (!function.is_constant && function.name != "main")
        ranked.emplace_back(mentions[function.name], Target{&file, function});
  }
  std::ranges::stable_sort(ranked, std::ranges::greater(), &std::pair<std::size_t, Target>::first);
  std::vector<Target> targets;
  for (std::size_t i = 0; i < std::min(limit, ranked.size()); ++i)
    targets.push_back(ranked[i].second);
  return targets;
}

const ProjectFile* find_tests(const Project& project, const Target& target) {
  const ProjectFile* any = nullptr;
  for (const ProjectFile& file : project.files) {
    if (test_bodies(file).empty()) continue;
    if (words_of(file).contains(target.function.name)) return &file;
    if (any == nullptr) any = &file;
  }
  return any;
}

std::vector<TestBody> test_bodies(const ProjectFile& file) {
  if (!file.language) return {};
  if (*file.language == SourceLanguage::c_family) return gtest_bodies(file);
  std::vector<TestBody> bodies;
  for (const tasks::SourceFunction& function : tasks::source_functions(file.text, *file.language))
    if (function.name.starts_with("test")) bodies.push_back({function.body, function.indent});
  return bodies;
}

}  // namespace runner::prove
