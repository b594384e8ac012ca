// The judgement: the gates' results, and what they mean together.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "gates/assurance.h"
#include "gates/benchmark_words.h"
#include "gates/gate.h"
#include "gates/plan.h"
#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/change.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::GateKind;
using tasks::Inconclusive;
using tasks::RunKey;
using tasks::RunRecord;
using tasks::Step;

bool is_change_to_blame(FailureClass failure) {
  return failure != FailureClass::base && failure != FailureClass::infra &&
         failure != FailureClass::internal;
}

// What the author can do about a failure of that class.
std::string next_step_of(FailureClass failure, const Reason& reason) {
  const std::string log =
      reason.evidence.empty() ? "" : fmt::format(" (its log: run {})", reason.evidence);
  switch (failure) {
    case FailureClass::build:
      return fmt::format("Read the log{}, mend the build and post the change again.", log);
    case FailureClass::test:
      return fmt::format(
          "Make the tests named in the reasons pass{}; a test that goes away on purpose is named "
          "in claims.removes.",
          log);
    case FailureClass::benchmark:
      return fmt::format(
          "Make what the benchmark measures faster or leave it as it was{}, and post again.", log);
    case FailureClass::report:
      return fmt::format(
          "Let the step run to its end and write what the policy declares{}: an early exit leaves "
          "nothing behind.",
          log);
    case FailureClass::diff:
      return "Make the change smaller, or leave out the files named in the reasons.";
    case FailureClass::limit:
      return fmt::format("Use less of what ran out{}; the policy's limits are the project's.", log);
    case FailureClass::base:
      return fmt::format(
          "Nothing is wrong with the change: mend the target branch{}, then post it again.", log);
    case FailureClass::determinism:
      return "Let the step leave the same bytes for the same inputs: look for clocks, random "
             "numbers, "
             "addresses and the order of threads where the first difference is.";
    case FailureClass::parity:
      return "Make the output agree with the reference within the policy's tolerance; the reasons "
             "name the first element that does not.";
    case FailureClass::infra:
      return "Nothing is wrong with the change: it is tried again, or post it again later.";
    case FailureClass::internal:
      return "This is a fault of Proofhouse: keep the evidence and report it.";
    case FailureClass::flaky:
      return fmt::format(
          "Make the tests named in the reasons pass every time{}: they pass now and then, and the "
          "base's always do.",
          log);
    case FailureClass::none:
    case FailureClass::guarded:
    case FailureClass::review:
      break;
  }
  return "Read the reasons and post the change again.";
}

Judgement internal_error(std::string text) {
  Judgement judgement;
  judgement.verdict = Verdict::error;
  judgement.failure = FailureClass::internal;
  judgement.reason.text = std::move(text);
  judgement.next_step = next_step_of(judgement.failure, judgement.reason);
  return judgement;
}

Reason first_reason(const GateResult& gate) {
  if (!gate.reasons.empty()) return gate.reasons.front();
  return Reason{gate.summary, gate.name.str(), {}, {}};
}

std::string describe_next(const Next& next) {
  if (const auto* const run = std::get_if<NextRun>(&next)) {
    return fmt::format("{} on {}", run->key.step.str(), tasks::side_name(run->key.of));
  }
  if (const auto* const comparison = std::get_if<NextCompare>(&next)) {
    return "a comparison of " + comparison->key.output;
  }
  if (const auto* const pair = std::get_if<NextPair>(&next)) {
    return fmt::format("pair {} of {}", pair->pair, pair->step.str());
  }
  return "nothing";
}

// The gate that decides a failed verdict: the first that failed through the change, else the first
// that failed.
const GateResult* deciding_failure(const std::vector<GateResult>& gates) {
  const GateResult* first = nullptr;
  for (const GateResult& gate : gates) {
    if (gate.status != GateStatus::failed) continue;
    if (is_change_to_blame(gate.failure)) return &gate;
    if (first == nullptr) first = &gate;
  }
  return first;
}

void fail(Judgement& judgement, const GateResult& gate) {
  judgement.verdict = is_change_to_blame(gate.failure) ? Verdict::rejected : Verdict::error;
  judgement.failure = gate.failure;
  judgement.reason = first_reason(gate);
  judgement.next_step = next_step_of(gate.failure, judgement.reason);
}

// Sets verdict inconclusive if a gate is and its policy does not let it pass.
void judge_inconclusive(const tasks::Policy& policy, Judgement& judgement) {
  const GateResult* deciding = nullptr;
  bool is_blocked = false;
  for (std::size_t i = 0; i < judgement.gates.size(); ++i) {
    const GateResult& gate = judgement.gates[i];
    const Inconclusive rule = policy.gates[i].inconclusive;
    if (gate.status != GateStatus::inconclusive || rule == Inconclusive::pass) continue;
    const bool blocks = rule == Inconclusive::block;
    if (deciding == nullptr || (blocks && !is_blocked)) deciding = &gate;
    is_blocked = is_blocked || blocks;
    if (!blocks) judgement.asks.push_back(gate.name);
  }
  if (deciding == nullptr) return;
  // No approval can name away a gate that blocks.
  if (is_blocked) judgement.asks.clear();
  judgement.verdict = Verdict::inconclusive;
  judgement.failure = deciding->failure;
  judgement.reason = first_reason(*deciding);
  if (deciding->failure == FailureClass::flaky) {
    judgement.next_step =
        fmt::format("{} Or a reviewer approves naming the gate {}.",
                    next_step_of(deciding->failure, judgement.reason), deciding->name.str());
    return;
  }
  judgement.next_step =
      is_blocked ? "The machine is too noisy to tell: make the benchmark steadier or the change "
                   "smaller; this gate blocks what it cannot decide."
                 : fmt::format(
                       "The machine is too noisy to tell: a reviewer may approve naming "
                       "the gate {}, or make the benchmark steadier.",
                       deciding->name.str());
}

void accept(const Context& context, Judgement& judgement) {
  std::int64_t passed = 0;
  std::int64_t let_pass = 0;
  for (const GateResult& gate : judgement.gates) {
    if (gate.status == GateStatus::passed) ++passed;
    if (gate.status == GateStatus::inconclusive) ++let_pass;
  }
  judgement.verdict = Verdict::accepted;
  judgement.failure = FailureClass::none;
  judgement.assurance = verdict_assurance(judgement.gates);
  judgement.reason.text = counted(passed, "gate") + " passed";
  if (let_pass > 0) {
    judgement.reason.text += fmt::format("; {} inconclusive, which the policy lets pass", let_pass);
  }
  const bool is_promoted = context.evidence.intent == tasks::Intent::promote;
  judgement.next_step = is_promoted ? "Wait for the approvals that the policy asks for, or none."
                                    : "Nothing: post it with intent promote to land it.";
  if (context.is_escalated() && is_promoted) {
    judgement.next_step = "The change touches guarded files: an owner must approve it.";
  }
}

// The base's checks could not be run against the change: said first, whatever else was found.
void wait_for_owners(const RunRecord& broken, Judgement& judgement) {
  judgement.waits_for_owners = true;
  // Only the change's own checks have run.
  if (judgement.assurance) judgement.assurance = tasks::Assurance::in_process;
  judgement.reason.text = fmt::format(
      "The base's checks could not be run against this change: with the base's guarded files it "
      "does not build. {}",
      judgement.reason.text);
  judgement.reason.where = broken.key.step.str();
  judgement.reason.evidence = broken.id;
  judgement.next_step = "Owners must look at the guarded files and decide. " + judgement.next_step;
}

FailureClass class_of_asked(const Context& context, const RunRecord& record) {
  const FailureClass failure = prerequisite_failure(context, record);
  const Step* const step = context.policy.find_step(record.key.step);
  if (failure != FailureClass::build || step == nullptr || step->reports.empty()) return failure;
  const bool is_benchmark =
      tasks::report_kind(step->reports.front().format) == tasks::ReportKind::benchmark;
  return is_benchmark ? FailureClass::benchmark : FailureClass::test;
}

// Intent run: nothing is judged; the first step that failed is told.
Judgement judge_run(const Context& context) {
  Judgement judgement;
  judgement.verdict = Verdict::ran;
  const std::vector<RunKey> runs = asked_runs(context);
  const Preparation preparation = prepare(context, runs, runs);
  if (preparation.next) {
    return internal_error(
        "the evidence is incomplete: " + describe_next(NextRun{*preparation.next}) + " is missing");
  }
  std::size_t done = 0;
  const RunRecord* failed = nullptr;
  for (const RunKey& key : runs) {
    const RunRecord* const record = context.evidence.find(key);
    const Step* const step = context.policy.find_step(key.step);
    if (record == nullptr) continue;
    if (step == nullptr || fault_of(*step, *record) != Fault::none) {
      if (failed == nullptr) failed = record;
    } else {
      ++done;
    }
  }
  if (failed == nullptr) {
    judgement.reason.text = counted(static_cast<std::int64_t>(done), "step") + " succeeded";
    judgement.next_step = "Nothing: intent run judges nothing.";
    return judgement;
  }
  const Step* const step = context.policy.find_step(failed->key.step);
  judgement.failure = class_of_asked(context, *failed);
  if (judgement.failure == FailureClass::infra) judgement.verdict = Verdict::error;
  judgement.reason = {step == nullptr ? failed->key.step.str() : describe_fault(*step, *failed),
                      failed->key.step.str(),
                      failed->id,
                      {}};
  judgement.next_step = next_step_of(judgement.failure, judgement.reason);
  return judgement;
}

// Claims about tests are checked by tests gates; without one they cannot be.
bool has_unchecked_claims(const Context& context) {
  const tasks::Claims& claims = context.evidence.claims;
  if (claims.fixes.empty() && claims.removes.empty()) return false;
  return std::ranges::none_of(context.policy.gates,
                              [](const tasks::Gate& gate) { return gate.kind == GateKind::tests; });
}

// A claim of an improvement names a gate that compares. Empty: all do.
std::string unknown_improvement(const Context& context) {
  for (const auto& [key, share] : context.evidence.claims.faster) {
    const auto is_meant = [&key](const tasks::Gate& gate) {
      return gate.kind == GateKind::benchmark && claimed_benchmark(key, gate.name.str());
    };
    if (std::ranges::none_of(context.policy.gates, is_meant)) return key;
  }
  return {};
}

Judgement unchecked(FailureClass failure, std::string text, std::string next_step) {
  Judgement judgement;
  judgement.verdict = Verdict::rejected;
  judgement.failure = failure;
  judgement.reason.text = std::move(text);
  judgement.next_step = std::move(next_step);
  return judgement;
}

}  // namespace

Judgement judge(const tasks::Policy& policy, const tasks::Evidence& evidence) {
  const Context context{policy, evidence};
  if (evidence.intent == tasks::Intent::run) return judge_run(context);
  Walk walk = walk_gates(context);
  if (!std::holds_alternative<NextNothing>(walk.next)) {
    return internal_error("the evidence is incomplete: " + describe_next(walk.next) +
                          " is missing");
  }
  Judgement judgement;
  judgement.gates = std::move(walk.gates);
  if (const GateResult* const failed = deciding_failure(judgement.gates)) {
    fail(judgement, *failed);
    return judgement;
  }
  if (has_unchecked_claims(context)) {
    Judgement refused = unchecked(FailureClass::test,
                                  "the claims about tests cannot be checked: no gate judges tests",
                                  "Post the change without claims.fixes and claims.removes.");
    refused.gates = std::move(judgement.gates);
    return refused;
  }
  if (const std::string key = unknown_improvement(context); !key.empty()) {
    Judgement refused = unchecked(
        FailureClass::benchmark,
        fmt::format("the claim of an improvement by {} cannot be checked: no benchmark gate has "
                    "that name",
                    one_line(key, 200)),
        "Name a benchmark gate of the policy in claims.faster, or leave the claim out.");
    refused.gates = std::move(judgement.gates);
    return refused;
  }
  accept(context, judgement);
  judge_inconclusive(policy, judgement);
  if (judgement.verdict != Verdict::accepted) judgement.assurance.reset();
  if (walk.broken_mixed != nullptr) wait_for_owners(*walk.broken_mixed, judgement);
  return judgement;
}

}  // namespace gates
