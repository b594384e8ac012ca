// The parity gate: arrays that the change leaves are near those of a reference.
#pragma once

#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// Compares each of the gate's outputs with its reference: the same output of the base's step, run
// afresh on the same inputs, or an output of a `from: base` step. The comparison itself is made by
// `reader` in a jail, so the result is out-of-process, and sealed if the step was fed by a seeded
// step after the builds.
Progress parity_progress(const Context& context, const tasks::Gate& gate);

}  // namespace gates
