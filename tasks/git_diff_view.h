// The view of one libgit2 patch, for git_diff.cc.
#pragma once

#include <cstddef>
#include <utility>

#include "sandbox/os/result.h"
#include "tasks/change.h"
#include "tasks/diff_view.h"

extern "C" {
struct git_patch;
}

namespace tasks::git {

// Adds a file's lines to views of one diff until their bounds are met.
class DiffViewer {
 public:
  // `file` describes `patch`.
  os::Result<void> add(git_patch* patch, const DiffFile& file);
  DiffView take() { return std::move(view_); }

 private:
  DiffView view_;
  std::size_t bytes_ = 0;
};

}  // namespace tasks::git
