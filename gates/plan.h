// Plan: the gates one after another over the evidence so far; what `next` and `judge` share.
#pragma once

#include <vector>

#include "gates/gate.h"
#include "gates/runs.h"
#include "gates/verdict.h"

namespace gates {

// How far the gates have come with the evidence so far.
struct Walk {
  Next next = NextNothing{};      // the run that is missing; nothing: `gates` is complete
  std::vector<GateResult> gates;  // one for each gate of the policy, in its order
  const tasks::RunRecord* broken_mixed = nullptr;  // see Progress
};

// Intents verify and promote. Diff gates come first, since they need no run; then the others in the
// file's order, up to the first failed one; after it only those that say `always`, and after a
// fault of the base or of the machine none.
Walk walk_gates(const Context& context);

// Intent run: the runs of the asked steps (all, if none is named) and of their needs, in order.
std::vector<tasks::RunKey> asked_runs(const Context& context);

}  // namespace gates
