#include "gates/parity_gate.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/assurance.h"
#include "gates/compared_runs.h"
#include "gates/gate.h"
#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/comparison.h"
#include "tasks/evidence.h"
#include "tasks/ids.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;

class ParityGate {
 public:
  ParityGate(const Context& context, const tasks::Gate& gate)
      : context_(context), gate_(gate), side_(compared_side(context)) {}

  Progress progress() {
    std::vector<RunKey> keys{subject()};
    for (const tasks::ParityOutput& output : gate_.parity) keys.push_back(reference_run(output));
    if (auto waiting = advance_runs(context_, gate_, keys)) return *std::move(waiting);
    Progress progress;
    result_ = new_result(gate_);
    result_.assurance = compared_assurance(context_, subject());
    for (const tasks::ParityOutput& output : gate_.parity) {
      const tasks::ComparisonKey key{gate_.name, output.path, subject(), reference_run(output),
                                     reference_path(output)};
      const tasks::ComparisonRecord* const record = find_comparison(context_, key);
      if (record == nullptr) return Progress{NextCompare{key}, {}, false, nullptr};
      judge(output, record->comparison);
    }
    finish();
    progress.is_final = result_.failure == FailureClass::base;
    progress.result = std::move(result_);
    return progress;
  }

 private:
  RunKey subject() const { return {side_, side_, gate_.steps.front(), std::nullopt}; }

  // The base runs afresh, on the inputs of this attempt.
  RunKey reference_run(const tasks::ParityOutput& output) const {
    if (output.reference == "base") {
      RunKey key{Side::base, Side::base, gate_.steps.front(), std::nullopt};
      key.rerun = 1;
      return key;
    }
    const std::string step = output.reference.substr(0, output.reference.find('.'));
    return {Side::judge, side_, tasks::StepName(step), std::nullopt};
  }

  static std::string reference_path(const tasks::ParityOutput& output) {
    if (output.reference == "base") return output.path;
    return output.reference.substr(output.reference.find('.') + 1);
  }

  void fail(FailureClass failure, std::string text, const tasks::ParityOutput& output) {
    if (result_.failure == FailureClass::none) result_.failure = failure;
    const RunRecord* const run = context_.evidence.find(subject());
    result_.reasons.push_back(
        {text + side_suffix(side_), output.path, run == nullptr ? std::string() : run->id, {}});
  }

  void judge(const tasks::ParityOutput& output, const tasks::Comparison& comparison) {
    if (!comparison.reference_error.empty()) {
      fail(FailureClass::base,
           fmt::format("the reference of {}: {}", output.path,
                       one_line(comparison.reference_error, 300)),
           output);
      return;
    }
    if (!comparison.error.empty()) {
      fail(FailureClass::parity,
           fmt::format("{}: {}", output.path, one_line(comparison.error, 300)), output);
      return;
    }
    arrays_ += static_cast<std::int64_t>(comparison.arrays.size());
    if (comparison.is_same) return;
    if (comparison.first) {
      fail(FailureClass::parity,
           describe(output.path, *comparison.first, "is its value", "the reference's"), output);
    }
    for (const tasks::ArrayDistance& distance : comparison.arrays) {
      if (distance.why.empty()) continue;
      const std::string name = distance.tensor.empty() ? "" : " " + one_line(distance.tensor, 200);
      fail(FailureClass::parity,
           fmt::format("{}{}: {}; largest difference {} ({} of the largest element), relative "
                       "Frobenius distance {}",
                       output.path, name, one_line(distance.why, 300), distance.max_difference,
                       distance.max_relative, distance.frobenius),
           output);
    }
  }

  void finish() {
    const bool is_failed = result_.failure != FailureClass::none;
    result_.status = is_failed ? GateStatus::failed : GateStatus::passed;
    result_.summary = is_failed ? result_.reasons.front().text
                                : counted(arrays_, "array") + " near the reference";
    bound_reasons(result_.reasons);
  }

  const Context& context_;
  const tasks::Gate& gate_;
  Side side_;
  GateResult result_;
  std::int64_t arrays_ = 0;
};

}  // namespace

Progress parity_progress(const Context& context, const tasks::Gate& gate) {
  return ParityGate(context, gate).progress();
}

}  // namespace gates
