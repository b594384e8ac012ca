// The tests gate: passed needs parsed results, exit status 0 and every test that the base has.
#pragma once

#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// How far `gate` (kind tests) has come, and its result when it is decided. A step of the change is
// judged on the change's own tree and, if guarded files are touched, on the mixed tree, against its
// run on the base; a `from: base` step by its own plan. The change's tree comes first; what failed
// there is not tried on the mixed tree.
Progress tests_progress(const Context& context, const tasks::Gate& gate);

}  // namespace gates
