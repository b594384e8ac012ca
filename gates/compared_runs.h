// ComparedRuns: what the gates that compare outputs share: getting runs made, and comparisons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gates/runs.h"
#include "gates/verdict.h"
#include "tasks/comparison.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

// The code that such a gate looks at: the mixed tree where there is one, else the change.
tasks::Side compared_side(const Context& context);

// Gets `keys` and all that they need run; a value is what the gate says in the meantime or because
// one of them failed (a mixed tree that does not build is no failure).
std::optional<Progress> advance_runs(const Context& context, const tasks::Gate& gate,
                                     const std::vector<tasks::RunKey>& keys);

// What the evidence says of a comparison; nullptr: it has not been made.
const tasks::ComparisonRecord* find_comparison(const Context& context,
                                               const tasks::ComparisonKey& key);

// "out/y.npy[3, 7] (byte 1044) differs: 0.123 in the first, 0.124 in the second".
std::string describe(const std::string& output, const tasks::Divergence& first,
                     const std::string& left_name, const std::string& right_name);

// A result with name and kind set.
GateResult new_result(const tasks::Gate& gate);

}  // namespace gates
