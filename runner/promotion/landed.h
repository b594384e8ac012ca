// What is kept of a promotion once the target was moved and read back.
#pragma once

#include <string>

#include "runner/context.h"
#include "runner/promotion/project_git.h"
#include "runner/store/records.h"

namespace runner {

// Why a task that is promoting may not land after all, whatever the database says of its state:
// its evidence is of something else or judged otherwise, or its approvals do not suffice. Empty:
// it may.
os::Result<std::string> objection_to_landing(const ServiceContext& context,
                                             const store::TaskRow& task);

struct Landed {
  const store::ProjectRow& project;
  std::string old_commit;
  GitTip read_back;
};

// Writes receipt, signed statements, audit entry and the task's end in one transaction. Again is a
// conflict. unavailable or timeout: the repository does not answer, try again.
os::Result<void> conclude_landed(const ServiceContext& context, store::TaskRow& task,
                                 const Landed& landed);

// Copies statements that a policy wants in the repository, and were not copied yet, as git notes of
// their commits (refs/notes/proofhouse). The first error: what it concerns is tried again later.
os::Result<void> write_due_notes(const ServiceContext& context);

}  // namespace runner
