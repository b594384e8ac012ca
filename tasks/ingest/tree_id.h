// The git id of a directory, computed from its files alone.
#pragma once

#include <string>

#include "sandbox/os/result.h"
#include "tasks/ids.h"

namespace tasks::ingest {

// The id of the tree object that git would make of `directory`: regular files (0644, 0755, one
// link), symbolic links and directories. Anything else, another mode, more than 100,000 entries or
// 64 levels: invalid, naming the path. Shares no code with what writes trees and none with libgit2,
// so that the one finds the other's mistakes.
os::Result<TreeId> tree_id(const std::string& directory);

}  // namespace tasks::ingest
