// Commits: which lie between two, and the commits that are made from a change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tasks/git.h"

namespace tasks::git {

// Reachable from `head` and not from `base`, parents first. More than `limit` commits: refused
// (too_large); a missing parent: refused (commit_not_found).
os::Result<std::vector<Commit>> commits_between(const Repository& repository, const CommitId& base,
                                                const CommitId& head, std::size_t limit,
                                                Refuser& refuser);

// True if `head` is `base` or has it among its ancestors, by a walk of the graph.
os::Result<bool> descends_from(const Repository& repository, const CommitId& head,
                               const CommitId& base);

// The best common ancestor; not_found.
os::Result<CommitId> merge_base(const Repository& repository, const CommitId& one,
                                const CommitId& other);

// A commit to make: author and committer are `<principal> <<principal>@proofhouse.invalid>`.
struct CommitSpec {
  CommitId parent;
  TreeId tree;
  std::string principal;
  std::string title;      // made one line; empty: "Change"
  std::string task;       // for the trailer "Proofhouse-Task: <task>"
  std::int64_t time = 0;  // seconds since the epoch, UTC
};

// Writes the commit; the same spec makes the same id.
os::Result<CommitId> make_commit(const Repository& repository, const CommitSpec& spec);

// Puts the commits base..commit onto `onto`, in memory, keeping authors, times and messages.
// Refused (rebase_conflict): a conflict, with its path, or a merge commit. The answer is `onto`
// itself if there is nothing between.
struct RebaseSpec {
  CommitId base;
  CommitId commit;
  CommitId onto;
};
os::Result<CommitId> rebase(const Repository& repository, const RebaseSpec& spec, Refuser& refuser);

}  // namespace tasks::git
