#include "runner/cli/check_source.h"

#include <string>

#include "runner/cli/commit_pack.h"
#include "tasks/git.h"
#include "tasks/git_history.h"

namespace runner::cli {

os::Result<CheckSource> find_check_source(const std::string& path, const std::string& base,
                                          const std::string& head) {
  const tasks::git::Session session =
      TRY(tasks::git::Session::start(tasks::git::Use::repositories));
  const std::string found = TRY(find_repository(path));
  const tasks::git::Repository repository = TRY_CONTEXT(tasks::git::Repository::open(found), found);
  const tasks::git::RepositoryPaths paths = TRY(repository_paths(repository));
  CheckSource source;
  source.git_dir = paths.git_dir;
  // The executor opens it without following a link at the end, and wants no slash there.
  while (source.git_dir.size() > 1 && source.git_dir.ends_with('/')) source.git_dir.pop_back();
  source.tip = TRY(resolve(repository, base));
  source.head = TRY(resolve(repository, head));
  const os::Result<tasks::CommitId> common =
      tasks::git::merge_base(repository, source.tip, source.head);
  if (!common && common.error().code == os::Code::not_found)
    return os::fail(os::Code::invalid, base + " and " + head +
                                           " have no commit in common: give the --base that the "
                                           "change was made on");
  source.base = TRY(common);
  // A working tree that cannot be compared holds nothing that is judged either way.
  if (!paths.work_dir.empty()) source.is_dirty = has_uncommitted_changes(repository).value_or(true);
  return source;
}

}  // namespace runner::cli
