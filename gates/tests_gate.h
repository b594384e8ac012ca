// The tests gate: passed needs parsed results, exit status 0 and every test that the base has.
#pragma once

#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// How far `gate` (kind tests) has come, and its result when it is decided. A step of the change is
// judged on the change's own tree and, if guarded files are touched, on the mixed tree, against its
// run on the base; a `from: base` step by its own plan. The change's tree comes first; what failed
// there is not tried on the mixed tree. With a budget of reruns, a step in which tests failed is
// run again, here and on the base: a test that passes now and then here and always on the base
// leaves the gate inconclusive (class flaky), and one that is flaky on the base too is noted.
Progress tests_progress(const Context& context, const tasks::Gate& gate);

}  // namespace gates
