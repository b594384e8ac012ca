// CheckSource: what `check` is to look at, read from the user's repository.
#pragma once

#include <string>

#include "sandbox/os/result.h"
#include "tasks/ids.h"

namespace runner::cli {

struct CheckSource {
  std::string git_dir;   // where the objects are; never written to
  tasks::CommitId tip;   // of the base revision: its policy counts
  tasks::CommitId base;  // where the change begins: the tip, or what both have in common
  tasks::CommitId head;
  bool is_dirty = false;  // there are edits that no commit holds: they are not judged
};

// not_found: no repository or revision; invalid: the two have nothing in common.
os::Result<CheckSource> find_check_source(const std::string& repository, const std::string& base,
                                          const std::string& head);

}  // namespace runner::cli
