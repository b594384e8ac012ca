// The determinism gate: a step run again in fresh jails leaves the same bytes.
#pragma once

#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// Runs the step `runs` times on the change (on the mixed tree, if guarded files are touched) with
// the same inputs, and compares the declared outputs that the gate names. Where they differ, the
// two are compared to name the first place: file, offset, array element, both values; and the
// base's step is run twice too: one that differs there as well is the base's fault.
Progress determinism_progress(const Context& context, const tasks::Gate& gate);

}  // namespace gates
