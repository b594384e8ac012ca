// A posted patch applied to a tree, in memory.
#pragma once

#include <string_view>

#include "tasks/git.h"

namespace tasks::git {

// The tree that the patch makes of `base`. The patch is git's format (text or binary; with binary
// contents it needs full object ids) or plain `---/+++`. Hunks apply at their line or, as with
// `git apply`, where their lines stand nearest to it; without an explicit mode line a file keeps
// its mode. Nothing but the paths that the patch names differs from the base afterwards.
// Refused: empty_patch, invalid_patch (line of the patch), invalid_path, invalid_mode, too_large,
// patch_conflict (path, line of the base's file, hunk and nearest match).
os::Result<TreeId> apply_patch(const Repository& repository, const TreeId& base,
                               std::string_view patch, Refuser& refuser);

}  // namespace tasks::git
