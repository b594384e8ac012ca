// Assurance: how far a gate's result can be trusted (DESIGN.md §1).
#pragma once

#include <optional>
#include <vector>

#include "gates/runs.h"
#include "gates/verdict.h"
#include "tasks/policy.h"

namespace gates {

// Of a tests gate: the least of its steps'. A step of the change: in-process. A `from: base` step
// that sees outputs of the change: out-of-process, and sealed if a step of the change that it
// judges was fed by a `from: base` step that had a seed and that ran after every build of that
// side. A `from: base` step that sees nothing of the change says nothing of it: in-process.
tasks::Assurance tests_assurance(const Context& context, const tasks::Gate& gate);

// Of outputs of the change's run that were compared out of its reach: out-of-process, sealed if the
// run was fed as above.
tasks::Assurance compared_assurance(const Context& context, const tasks::RunKey& run);

// Of a verdict: per question (correct: tests, parity; fast: benchmark; that a step leaves the same
// bytes twice answers neither) the best level of a passed gate,
// then the least over the questions that the policy asks. `results` are in the policy's order; a
// gate that counts as passed without being so is in-process. Nothing without such a gate.
std::optional<tasks::Assurance> verdict_assurance(const std::vector<GateResult>& results);

}  // namespace gates
