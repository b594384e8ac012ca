#include "gates/assurance.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "gates/runs.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::Assurance;
using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;

void collect_keys(const tasks::Policy& policy, const RunKey& key, std::set<RunKey>& found) {
  for (const RunKey& need : needs_of(policy, key)) {
    if (found.insert(need).second) collect_keys(policy, need, found);
  }
}

std::set<RunKey> all_needs(const tasks::Policy& policy, const RunKey& key) {
  std::set<RunKey> found;
  collect_keys(policy, key, found);
  return found;
}

// Place in the order in which runs ended; past the end if there is none.
std::size_t position(const tasks::Evidence& evidence, const RunKey& key) {
  return static_cast<std::size_t>(std::ranges::find(evidence.runs, key, &RunRecord::key) -
                                  evidence.runs.begin());
}

// Is the run of a change's step fed by a seeded run of the base's code, begun after its builds?
bool is_fed_sealed(const Context& context, const RunKey& consumer) {
  const std::set<RunKey> needs = all_needs(context.policy, consumer);
  std::size_t last_build = 0;
  bool has_seed = false;
  std::size_t first_draw = context.evidence.runs.size();
  for (const RunKey& need : needs) {
    const std::size_t at = position(context.evidence, need);
    if (at == context.evidence.runs.size()) return false;
    if (need.side == Side::judge) {
      if (context.evidence.runs[at].seed.empty()) continue;
      has_seed = true;
      first_draw = std::min(first_draw, at);
    } else if (!is_late(context.policy, need.step)) {
      last_build = std::max(last_build, at);
    }
  }
  return has_seed && last_build < first_draw;
}

// Of a judge that speaks with the change's code: was its seed drawn, and its first question asked,
// after the build that it needs?
bool is_asked_sealed(const Context& context, const RunKey& reader, const RunKey& need) {
  const RunRecord* const record = context.evidence.find(reader);
  return record != nullptr && !record->seed.empty() &&
         position(context.evidence, need) < position(context.evidence, reader);
}

Assurance judge_assurance(const Context& context, const RunKey& judge) {
  std::set<RunKey> judges = all_needs(context.policy, judge);
  std::erase_if(judges, [](const RunKey& need) { return need.side != Side::judge; });
  judges.insert(judge);
  bool has_subject = false;
  bool is_sealed = true;
  for (const RunKey& reader : judges) {
    const tasks::Step* const step = context.policy.find_step(reader.step);
    const bool interacts = step != nullptr && context.policy.find_partner(*step) != nullptr;
    has_subject = has_subject || interacts;
    for (const RunKey& need : needs_of(context.policy, reader)) {
      if (need.side == Side::judge) continue;
      has_subject = true;
      is_sealed = is_sealed && (interacts ? is_asked_sealed(context, reader, need)
                                          : is_fed_sealed(context, need));
    }
  }
  if (!has_subject) return Assurance::in_process;
  return is_sealed ? Assurance::sealed : Assurance::out_of_process;
}

}  // namespace

Assurance tests_assurance(const Context& context, const tasks::Gate& gate) {
  Assurance least = Assurance::sealed;
  for (const tasks::StepName& name : gate.steps) {
    for (const Side subject : {Side::change, Side::mixed}) {
      if (subject == Side::mixed && !context.is_escalated()) continue;
      const RunKey key = key_for(context.policy, name, subject);
      const Assurance level =
          key.side == Side::judge ? judge_assurance(context, key) : Assurance::in_process;
      least = std::min(least, level);
    }
  }
  return gate.steps.empty() ? Assurance::in_process : least;
}

Assurance compared_assurance(const Context& context, const RunKey& run) {
  return is_fed_sealed(context, run) ? Assurance::sealed : Assurance::out_of_process;
}

std::optional<Assurance> verdict_assurance(const std::vector<GateResult>& results) {
  std::optional<Assurance> least;
  for (const tasks::GateKind question : {tasks::GateKind::tests, tasks::GateKind::benchmark}) {
    std::optional<Assurance> best;
    for (const GateResult& result : results) {
      const tasks::GateKind asked =
          result.kind == tasks::GateKind::parity ? tasks::GateKind::tests : result.kind;
      if (asked != question) continue;
      const bool is_passed = result.status == GateStatus::passed;
      const Assurance level = is_passed ? result.assurance : Assurance::in_process;
      best = best ? std::max(*best, level) : level;
    }
    if (best) least = least ? std::min(*least, *best) : best;
  }
  return least;
}

}  // namespace gates
