// Interdiff: what changed from one patch set to the next.
#pragma once

#include "tasks/diff_view.h"

namespace runner::web {

// A view whose lines are those of the later patch set, with what the earlier one had and it has
// not as removed ('-'), what it has and the earlier had not as added ('+'). Compares the added and
// removed lines of each file; files whose patches are alike are left out. In a line's text the
// first character is the patch's own '+' or '-'. Bounded: over kMostLines of a file all of it is
// shown as replaced.
tasks::DiffView compare_patches(const tasks::DiffView& earlier, const tasks::DiffView& later);

}  // namespace runner::web
