#include "gates/runs.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/text.h"
#include "gates/verdict.h"
#include "sandbox/outcome.h"
#include "tasks/evidence.h"
#include "tasks/ids.h"
#include "tasks/policy.h"

namespace gates {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;
using tasks::StepName;

namespace {

// The step and all that it needs, however far; a cycle, which no checked policy has, ends.
void collect_steps(const tasks::Policy& policy, const StepName& name, std::set<StepName>& found) {
  if (!found.insert(name).second) return;
  const Step* const step = policy.find_step(name);
  if (step == nullptr) return;
  for (const tasks::Need& need : step->needs) collect_steps(policy, need.step, found);
}

void collect_runs(const Context& context, const RunKey& key, std::set<RunKey>& seen,
                  std::vector<RunKey>& ordered) {
  if (!seen.insert(key).second) return;
  if (context.evidence.find(key) == nullptr) {
    for (const RunKey& need : needs_of(context.policy, key)) {
      collect_runs(context, need, seen, ordered);
    }
  }
  ordered.push_back(key);
}

bool has_failed(const Context& context, const RunKey& key) {
  const RunRecord* const record = context.evidence.find(key);
  const Step* const step = context.policy.find_step(key.step);
  return record == nullptr || step == nullptr || fault_of(*step, *record) != Fault::none;
}

}  // namespace

RunKey key_for(const tasks::Policy& policy, const StepName& step, Side subject) {
  const Step* const found = policy.find_step(step);
  const bool is_judge = found != nullptr && found->from_base;
  return RunKey{is_judge ? Side::judge : subject, subject, step, std::nullopt};
}

std::vector<RunKey> needs_of(const tasks::Policy& policy, const RunKey& key) {
  std::vector<RunKey> needs;
  const Step* const step = policy.find_step(key.step);
  if (step == nullptr) return needs;
  for (const tasks::Need& need : step->needs) {
    const Step* const other = policy.find_step(need.step);
    if (other != nullptr && other->interact) {
      // It runs together with this one: what it needs is needed, not itself.
      const RunKey partner{key.of, key.of, need.step, std::nullopt};
      for (RunKey& each : needs_of(policy, partner))
        if (std::ranges::find(needs, each) == needs.end()) needs.push_back(std::move(each));
      continue;
    }
    RunKey needed = key_for(policy, need.step, key.of);
    if (key.variant == tasks::Variant::relinked && needed.side != Side::judge) {
      needed.variant = key.variant;
    }
    if (std::ranges::find(needs, needed) == needs.end()) needs.push_back(std::move(needed));
  }
  return needs;
}

bool is_late(const tasks::Policy& policy, const StepName& step) {
  std::set<StepName> needed;
  collect_steps(policy, step, needed);
  const Step* const itself = policy.find_step(step);
  if (itself != nullptr && itself->interact) return true;
  return std::ranges::any_of(needed, [&policy](const StepName& name) {
    const Step* const found = policy.find_step(name);
    return found != nullptr && found->from_base;
  });
}

bool is_subject_dependent(const tasks::Policy& policy, const StepName& step) {
  std::set<StepName> needed;
  collect_steps(policy, step, needed);
  return std::ranges::any_of(needed, [&policy](const StepName& name) {
    const Step* const found = policy.find_step(name);
    return found != nullptr && !found->from_base;
  });
}

std::vector<RunKey> ordered_runs(const Context& context, const std::vector<RunKey>& targets) {
  std::set<RunKey> seen;
  std::vector<RunKey> ordered;
  for (const RunKey& target : targets) collect_runs(context, target, seen, ordered);
  // Runs need only runs of the same `of`, and early ones no late ones: the order stays right.
  std::ranges::stable_sort(ordered, {}, [&context](const RunKey& key) {
    return std::tuple(is_late(context.policy, key.step), key.of);
  });
  return ordered;
}

Fault fault_of(const Step& step, const RunRecord& record) {
  switch (record.outcome.kind) {
    case sandbox::OutcomeKind::exited:
      if (record.outcome.code != 0) return Fault::exit;
      break;
    case sandbox::OutcomeKind::signalled:
      return Fault::crash;
    case sandbox::OutcomeKind::timed_out:
    case sandbox::OutcomeKind::killed:
      return Fault::limit;
    case sandbox::OutcomeKind::cancelled:
    case sandbox::OutcomeKind::setup_failed:
      return Fault::machine;
  }
  for (const auto& [name, path] : step.outputs) {
    const auto output = std::ranges::find(record.outputs, name, &tasks::OutputRecord::name);
    if (output == record.outputs.end() || !output->error.empty()) return Fault::output;
  }
  return Fault::none;
}

std::string side_suffix(Side of) {
  switch (of) {
    case Side::base:
      return " on the base";
    case Side::mixed:
      return " with the base's guarded files";
    case Side::change:
    case Side::judge:
      break;
  }
  return {};
}

std::string describe_fault(const Step& step, const RunRecord& record) {
  const std::string& name = step.name.str();
  const std::string suffix = side_suffix(record.key.of);
  if (fault_of(step, record) != Fault::output) {
    return fmt::format("{} {}{}", name, sandbox::describe(record.outcome), suffix);
  }
  for (const auto& [output, path] : step.outputs) {
    const auto found = std::ranges::find(record.outputs, output, &tasks::OutputRecord::name);
    if (found != record.outputs.end() && found->error.empty()) continue;
    const std::string why = found == record.outputs.end() ? "missing" : one_line(found->error);
    return fmt::format("{} left no output `{}`{}: {}", name, output, suffix, why);
  }
  return fmt::format("{} succeeded{}", name, suffix);
}

FailureClass prerequisite_failure(const Context& context, const RunRecord& record) {
  const Step* const step = context.policy.find_step(record.key.step);
  if (step == nullptr) return FailureClass::internal;
  const Fault fault = fault_of(*step, record);
  if (fault == Fault::machine) return FailureClass::infra;
  const bool is_of_change = is_subject_dependent(context.policy, step->name);
  if (record.key.of == Side::base || !is_of_change) return FailureClass::base;
  if (fault == Fault::limit) return FailureClass::limit;
  if (fault == Fault::output) return FailureClass::report;
  return is_late(context.policy, step->name) ? FailureClass::test : FailureClass::build;
}

Preparation prepare(const Context& context, const std::vector<RunKey>& runs,
                    const std::vector<RunKey>& targets) {
  for (const RunKey& key : runs) {
    const RunRecord* const record = context.evidence.find(key);
    const bool is_target = std::ranges::find(targets, key) != targets.end();
    if (record != nullptr) {
      if (!is_target && has_failed(context, key)) return {std::nullopt, record};
      continue;
    }
    // What needs a target that failed cannot run; the caller says so when it judges.
    const std::vector<RunKey> needs = needs_of(context.policy, key);
    const bool is_blocked = std::ranges::any_of(
        needs, [&context](const RunKey& need) { return has_failed(context, need); });
    if (!is_blocked) return {key, nullptr};
  }
  return {};
}

MixedQuestion ask_mixed(const Context& context, const RunRecord& failed) {
  const bool is_build = failed.key.side == Side::mixed && !is_late(context.policy, failed.key.step);
  if (!is_build) return {std::nullopt, false, nullptr};
  const std::vector<RunKey> own =
      ordered_runs(context, {key_for(context.policy, failed.key.step, Side::change)});
  const Preparation preparation = prepare(context, own, {});
  if (preparation.next) return {preparation.next, false, nullptr};
  return {std::nullopt, preparation.failed == nullptr, preparation.failed};
}

Progress failed_prerequisite(const Context& context, const tasks::Gate& gate,
                             const RunRecord& record) {
  Progress progress;
  GateResult& result = progress.result;
  result.name = gate.name;
  result.kind = gate.kind;
  result.status = GateStatus::failed;
  result.failure = prerequisite_failure(context, record);
  const Step* const step = context.policy.find_step(record.key.step);
  const std::string text = step == nullptr ? record.key.step.str() + " is no step of the policy"
                                           : describe_fault(*step, record);
  result.reasons.push_back({text, record.key.step.str(), record.id, {}});
  result.summary = text;
  progress.is_final = result.failure == FailureClass::base || result.failure == FailureClass::infra;
  return progress;
}

void bound_reasons(std::vector<Reason>& reasons) {
  if (reasons.size() <= kMaxReasons) return;
  const std::size_t left_out = reasons.size() - (kMaxReasons - 1);
  reasons.resize(kMaxReasons - 1);
  reasons.push_back({fmt::format("and {} more", left_out), {}, {}, {}});
}

}  // namespace gates
