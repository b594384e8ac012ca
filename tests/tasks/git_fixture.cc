#include "tests/tasks/git_fixture.h"

#include <git2.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

// libgit2 1.5.1 leaks on its own error paths (a remote that is not reached, a broken pack, a
// missing ancestor). Named by function, so that a handle that we forget is still found; for that
// the sanitizer must see the whole stack.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options();       // NOLINT(bugprone-reserved-identifier)

// Weak: a program that links the git helper has the helper's own.
__attribute__((weak)) const char* __lsan_default_suppressions() {
  return "leak:git_remote_create_with_opts\n"
         "leak:git_indexer_append\n"
         "leak:git_graph_reachable_from_any\n";
}

const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }

namespace tests {
namespace {

void must(int code, const char* what) {
  if (code >= 0) return;
  const git_error* const last = git_error_last();
  std::fprintf(stderr, "%s: %s\n", what, last == nullptr ? "?" : last->message);
  std::abort();
}

git_oid oid_of(std::string_view hex) {
  git_oid oid{};
  must(git_oid_fromstrn(&oid, hex.data(), hex.size()), "id");
  return oid;
}

std::string text_of(const git_oid& oid) {
  std::array<char, GIT_OID_HEXSZ + 1> text{};
  git_oid_tostr(text.data(), text.size(), &oid);
  return text.data();
}

// Paths below one directory, grouped by their first part.
std::string write_tree(const GitRepository& repository, const GitFiles& files) {
  std::map<std::string, GitEntry> entries;  // by git's sort key
  std::map<std::string, GitFiles> folders;
  for (const auto& [path, file] : files) {
    const std::size_t slash = path.find('/');
    if (slash == path.npos)
      entries[path] = {file.mode, path, repository.blob(file.content)};
    else
      folders[path.substr(0, slash)][path.substr(slash + 1)] = file;
  }
  for (const auto& [name, below] : folders)
    entries[name + "/"] = {"40000", name, write_tree(repository, below)};
  std::vector<GitEntry> sorted;
  for (const auto& [key, entry] : entries) sorted.push_back(entry);
  return repository.raw_tree(sorted);
}

}  // namespace

void start_git() {
  static const auto session = tasks::git::Session::start(tasks::git::Use::posted);
  if (!session) std::abort();
}

GitRepository::GitRepository(const std::string& path) : path_(path) {
  start_git();
  git_repository* repository = nullptr;
  git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
  options.initial_head = "main";
  must(git_repository_init_ext(&repository, path.c_str(), &options), "init");
  git_repository_free(repository);
}

std::string GitRepository::write(std::string_view bytes, int type) const {
  git_odb* odb = nullptr;
  must(git_odb_open(&odb, (path_ + "/objects").c_str()), "odb");
  git_oid oid{};
  must(git_odb_write(&oid, odb, bytes.data(), bytes.size(), static_cast<git_object_t>(type)),
       "write");
  git_odb_free(odb);
  return text_of(oid);
}

std::string GitRepository::blob(std::string_view content) const {
  return write(content, GIT_OBJECT_BLOB);
}

std::string GitRepository::raw_tree(const std::vector<GitEntry>& entries) const {
  std::string bytes;
  for (const GitEntry& entry : entries) {
    bytes += entry.mode + ' ' + entry.name;
    bytes += '\0';
    const git_oid oid = oid_of(entry.id);
    bytes.append(std::begin(oid.id), std::end(oid.id));
  }
  return write(bytes, GIT_OBJECT_TREE);
}

tasks::TreeId GitRepository::tree(const GitFiles& files) const {
  return tree_id(write_tree(*this, files));
}

tasks::CommitId GitRepository::commit(const tasks::TreeId& tree,
                                      const std::vector<tasks::CommitId>& parents,
                                      std::string_view message) const {
  std::string text = "tree " + tree.hex() + "\n";
  for (const tasks::CommitId& parent : parents) text += "parent " + parent.hex() + "\n";
  text += "author A U Thor <author@example.com> 1600000000 +0100\n";
  text += "committer C O Mitter <committer@example.com> 1600000001 +0000\n\n";
  return *tasks::CommitId::parse(write(text + std::string(message), GIT_OBJECT_COMMIT));
}

tasks::CommitId GitRepository::commit(const GitFiles& files,
                                      const std::vector<tasks::CommitId>& parents,
                                      std::string_view message) const {
  return commit(tree(files), parents, message);
}

void GitRepository::set(const std::string& ref, const tasks::CommitId& commit) const {
  git_repository* repository = nullptr;
  must(git_repository_open(&repository, path_.c_str()), "open");
  git_reference* reference = nullptr;
  const git_oid oid = oid_of(commit.hex());
  must(git_reference_create(&reference, repository, ref.c_str(), &oid, 1, nullptr), "ref");
  git_reference_free(reference);
  git_repository_free(repository);
}

std::string GitRepository::get(const std::string& ref) const {
  git_repository* repository = nullptr;
  must(git_repository_open(&repository, path_.c_str()), "open");
  git_oid oid{};
  const int code = git_reference_name_to_id(&oid, repository, ref.c_str());
  git_repository_free(repository);
  return code < 0 ? "" : text_of(oid);
}

void GitRepository::remove_object(const std::string& id) const {
  ::unlink((path_ + "/objects/" + id.substr(0, 2) + "/" + id.substr(2)).c_str());
}

tasks::TreeId tree_id(std::string_view hex) { return *tasks::TreeId::parse(hex); }

}  // namespace tests
