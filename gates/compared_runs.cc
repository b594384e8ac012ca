#include "gates/compared_runs.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gates/gate.h"
#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/comparison.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;

tasks::Side compared_side(const Context& context) {
  return context.is_escalated() ? Side::mixed : Side::change;
}

GateResult new_result(const tasks::Gate& gate) {
  GateResult result;
  result.name = gate.name;
  result.kind = gate.kind;
  return result;
}

std::optional<Progress> advance_runs(const Context& context, const tasks::Gate& gate,
                                     const std::vector<RunKey>& keys) {
  std::vector<RunKey> runs = ordered_runs(context, keys);
  const Preparation preparation = prepare(context, runs, {});
  if (preparation.next) return Progress{NextRun{*preparation.next}, {}, false, nullptr};
  if (preparation.failed == nullptr) return std::nullopt;
  const RunRecord& failed = *preparation.failed;
  const bool is_infra = prerequisite_failure(context, failed) == FailureClass::infra;
  if (failed.key.of != Side::mixed || is_infra) return failed_prerequisite(context, gate, failed);
  const MixedQuestion question = ask_mixed(context, failed);
  if (question.next) return Progress{NextRun{*question.next}, {}, false, nullptr};
  if (!question.is_mixed_broken)
    return failed_prerequisite(context, gate,
                               question.failed == nullptr ? failed : *question.failed);
  Progress progress;
  progress.broken_mixed = &failed;
  progress.result = new_result(gate);
  progress.result.summary = "not compared: with the base's guarded files the change does not build";
  return progress;
}

const tasks::ComparisonRecord* find_comparison(const Context& context,
                                               const tasks::ComparisonKey& key) {
  const auto& all = context.evidence.comparisons;
  const auto found = std::ranges::find(all, key, &tasks::ComparisonRecord::key);
  return found == all.end() ? nullptr : &*found;
}

std::string describe(const std::string& output, const tasks::Divergence& first,
                     const std::string& left_name, const std::string& right_name) {
  std::string place = output;
  if (!first.file.empty()) place += "/" + one_line(first.file, 200);
  if (!first.tensor.empty()) place += ", tensor " + one_line(first.tensor, 200);
  place += first.index;
  if (first.offset >= 0) place += fmt::format(" (byte {})", first.offset);
  place += " " + one_line(first.what, 200);
  if (first.left.empty() && first.right.empty()) return place;
  return fmt::format("{}: {} {}, {} {}", place, one_line(first.left, 100), left_name,
                     one_line(first.right, 100), right_name);
}

}  // namespace gates
