// Writes checked trees as directories.
#pragma once

#include <cstdint>
#include <string>

#include "tasks/git.h"

namespace tasks::ingest {

// The time of every file that is written, 2000-01-01: older than whatever a build makes of it.
inline constexpr std::int64_t kFileTime = 946'684'800;

// Writes `tree` as `directory` (made new; its parent exists). Only openat with O_EXCL and
// O_NOFOLLOW, mkdirat and symlinkat are used: nothing is written through what stands there. Files
// 0644 or 0755, directories 0755, links as links. The tree has passed TreeChecker. Refused:
// too_large (no room left), invalid_path (a link whose target no file system takes).
os::Result<void> write_tree(const git::Repository& repository, const TreeId& tree,
                            const std::string& directory, git::Refuser& refuser);

}  // namespace tasks::ingest
