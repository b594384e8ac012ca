#include "runner/cli/commit_pack.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tasks/git.h"
#include "tasks/git_pack.h"

namespace runner::cli {
namespace {

namespace fs = std::filesystem;
using tasks::CommitId;

bool is_repository(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path / ".git", ignored)) return true;
  return fs::exists(path / "HEAD", ignored) && fs::is_directory(path / "objects", ignored) &&
         fs::is_directory(path / "refs", ignored);
}

// What this clone last saw of the target at its origin; empty: it never did.
std::vector<CommitId> known_target(const tasks::git::Repository& repository,
                                   const std::string& target) {
  constexpr std::string_view kHeads = "refs/heads/";
  if (!target.starts_with(kHeads)) return {};
  const os::Result<CommitId> seen =
      resolve(repository, "refs/remotes/origin/" + target.substr(kHeads.size()));
  return seen ? std::vector<CommitId>{*seen} : std::vector<CommitId>{};
}

}  // namespace

os::Result<std::string> find_repository(const std::string& directory) {
  std::error_code error;
  fs::path path = directory.empty() ? fs::current_path(error) : fs::absolute(directory, error);
  if (error) return os::fail(os::Code::not_found, "the working directory is gone");
  for (;; path = path.parent_path()) {
    if (is_repository(path)) return path.string();
    if (path == path.root_path()) break;
  }
  return os::fail(os::Code::not_found, "there is no git repository here");
}

os::Result<CommitPack> pack_commit(const CommitRequest& request) {
  const tasks::git::Session session =
      TRY(tasks::git::Session::start(tasks::git::Use::repositories));
  const std::string path =
      request.repository.empty() ? TRY(find_repository({})) : request.repository;
  const tasks::git::Repository repository = TRY_CONTEXT(tasks::git::Repository::open(path), path);
  CommitPack result;
  const CommitId commit = TRY(resolve(repository, request.commit));
  result.commit = commit.hex();
  std::vector<CommitId> without = known_target(repository, request.target);
  if (!request.base.empty()) {
    const CommitId base = TRY(resolve(repository, request.base));
    result.base = base.hex();
    without = {base};
  }
  for (const CommitId& each : without)
    if (each == commit) return result;
  const os::Result<std::string> pack =
      tasks::git::make_pack(repository, {.commit = commit, .without = without});
  if (!pack && pack.error().code == os::Code::exhausted && request.base.empty())
    return os::fail(os::Code::exhausted,
                    pack.error().message + "; name a commit that the server has with --base");
  result.pack = TRY(pack);
  return result;
}

}  // namespace runner::cli
