#include "gates/plan.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

#include "gates/benchmark_gate.h"
#include "gates/determinism_gate.h"
#include "gates/diff_gate.h"
#include "gates/gate.h"
#include "gates/parity_gate.h"
#include "gates/runs.h"
#include "gates/tests_gate.h"
#include "gates/verdict.h"
#include "tasks/change.h"
#include "tasks/evidence.h"
#include "tasks/ids.h"
#include "tasks/policy.h"

namespace gates {

using tasks::GateKind;
using tasks::RunKey;
using tasks::Side;

namespace {

Progress progress_of(const Context& context, const tasks::Gate& gate) {
  switch (gate.kind) {
    case GateKind::tests:
      return tests_progress(context, gate);
    case GateKind::determinism:
      return determinism_progress(context, gate);
    case GateKind::parity:
      return parity_progress(context, gate);
    case GateKind::benchmark:
    case GateKind::diff:
      break;
  }
  return benchmark_progress(context, gate);
}

bool is_failed(const GateResult& result) { return result.status == GateStatus::failed; }

Next next_asked(const Context& context) {
  const std::vector<RunKey> runs = asked_runs(context);
  // What needs a failed step is skipped; what does not still runs.
  const Preparation preparation = prepare(context, runs, runs);
  if (preparation.next) return NextRun{*preparation.next};
  return NextNothing{};
}

}  // namespace

Walk walk_gates(const Context& context) {
  Walk walk;
  bool has_failed = false;
  for (const tasks::Gate& gate : context.policy.gates) {
    GateResult result;
    if (gate.kind == GateKind::diff) {
      result = judge_diff(gate, context.evidence.change.diff);
      has_failed = has_failed || is_failed(result);
    } else {
      result.name = gate.name;
      result.kind = gate.kind;
      result.summary = "not run: another gate failed";
    }
    walk.gates.push_back(std::move(result));
  }
  for (std::size_t i = 0; i < walk.gates.size(); ++i) {
    const tasks::Gate& gate = context.policy.gates[i];
    if (gate.kind == GateKind::diff || (has_failed && !gate.always)) continue;
    Progress progress = progress_of(context, gate);
    walk.next = std::move(progress.next);
    if (!std::holds_alternative<NextNothing>(walk.next)) break;
    if (walk.broken_mixed == nullptr) walk.broken_mixed = progress.broken_mixed;
    walk.gates[i] = std::move(progress.result);
    has_failed = has_failed || is_failed(walk.gates[i]);
    if (progress.is_final) break;
  }
  return walk;
}

std::vector<RunKey> asked_runs(const Context& context) {
  std::vector<RunKey> targets;
  const auto ask = [&](const tasks::StepName& name) {
    // A step that interacts runs with the one that it is joined with.
    for (const tasks::Step& step : context.policy.steps) {
      const tasks::Step* const partner = context.policy.find_partner(step);
      if (partner != nullptr && partner->name == name)
        targets.push_back(key_for(context.policy, step.name, Side::change));
    }
    const tasks::Step* const step = context.policy.find_step(name);
    if (step != nullptr && step->interact) return;
    targets.push_back(key_for(context.policy, name, Side::change));
  };
  if (context.evidence.steps.empty()) {
    for (const tasks::Step& step : context.policy.steps) ask(step.name);
  } else {
    for (const tasks::StepName& name : context.evidence.steps) ask(name);
  }
  return ordered_runs(context, targets);
}

Next next(const tasks::Policy& policy, const tasks::Evidence& evidence) {
  const Context context{policy, evidence};
  if (evidence.intent == tasks::Intent::run) return next_asked(context);
  return walk_gates(context).next;
}

bool is_shared(const tasks::Policy& policy, const tasks::StepName& step) {
  const tasks::Step* const needed = policy.find_step(step);
  if (needed == nullptr) return false;
  return std::ranges::any_of(policy.steps, [needed](const tasks::Step& other) {
    if (other.from_base != needed->from_base) return false;
    return std::ranges::any_of(other.needs, [needed](const tasks::Need& need) {
      return need.step == needed->name && need.output.empty();
    });
  });
}

}  // namespace gates
