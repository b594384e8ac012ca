// ProjectGit: what the service asks of a project's repository. Trusted refs only: what is in the
// objects is never parsed here (that is ingest's).
#pragma once

#include <string>

#include "runner/attest/verify.h"
#include "runner/service.h"
#include "tasks/ids.h"

namespace runner {

// A commit with its tree.
struct GitTip {
  tasks::CommitId commit;
  tasks::TreeId tree;
  bool operator==(const GitTip&) const = default;
};

// A move of the target from exactly `from` to `to`.
struct GitLanding {
  tasks::CommitId from;
  tasks::CommitId to;
  std::string pack;   // paths of a pack with objects that the repository lacks, and its index;
  std::string index;  // empty: there are none
};

// Safe from several threads. Every call has a deadline: timeout. unavailable: the remote does not
// answer, try again.
class ProjectGit {
 public:
  virtual ~ProjectGit() = default;
  // The target's commit; authority remote: fetched first. not_found: there is no such ref.
  virtual os::Result<GitTip> tip(const Project& project) = 0;
  // Adds the pack and moves the target by compare-and-swap; authority remote: a push that cannot
  // overwrite. conflict: the target is not at `from` any more, nothing was moved.
  virtual os::Result<void> land(const Project& project, const GitLanding& landing) = 0;
  // The target as it is now, read from where it is in force.
  virtual os::Result<GitTip> read_back(const Project& project) = 0;
  // True if `ancestor` is `commit` or in its history.
  virtual os::Result<bool> is_ancestor(const Project& project, const tasks::CommitId& ancestor,
                                       const tasks::CommitId& commit) = 0;
  // The policy file of a commit. not_found: it has none.
  virtual os::Result<PolicyFileId> policy_at(const Project& project,
                                             const tasks::CommitId& commit) = 0;
  // Keeps text (at most 1 MiB) as the commit's note in refs/notes/proofhouse of project.repository.
  virtual os::Result<void> add_note(const Project& project, const tasks::CommitId& commit,
                                    const std::string& note) = 0;
  // Makes what project.repository has to be, from spec.repository or spec.url, and checks it:
  // authority local: writable by us, the target exists and is not checked out. conflict or invalid
  // name what is wrong and the command that mends it.
  virtual os::Result<void> prepare(const Project& project, const ProjectSpec& spec) = 0;
};

}  // namespace runner
