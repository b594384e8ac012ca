#include "gates/determinism_gate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/compared_runs.h"
#include "gates/gate.h"
#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/comparison.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::OutputRecord;
using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;

const OutputRecord* find_output(const RunRecord& record, const std::string& name) {
  const auto found = std::ranges::find(record.outputs, name, &OutputRecord::name);
  return found == record.outputs.end() ? nullptr : &*found;
}

class DeterminismGate {
 public:
  DeterminismGate(const Context& context, const tasks::Gate& gate)
      : context_(context), gate_(gate), side_(compared_side(context)) {}

  Progress progress() {
    std::vector<RunKey> keys;
    for (int number = 0; number < gate_.runs; ++number) keys.push_back(run_of(side_, number));
    if (auto waiting = advance_runs(context_, gate_, keys)) return *std::move(waiting);
    for (std::size_t i = 1; i < keys.size(); ++i) {
      for (const std::string& output : gate_.outputs) {
        if (is_same(keys[0], keys[i], output)) continue;
        return tell_difference(keys[0], keys[i], output);
      }
    }
    Progress progress;
    progress.result = new_result();
    progress.result.status = GateStatus::passed;
    progress.result.summary =
        fmt::format("{} runs left the same {}", gate_.runs,
                    counted(static_cast<std::int64_t>(gate_.outputs.size()), "output"));
    return progress;
  }

 private:
  GateResult new_result() const {
    GateResult result = gates::new_result(gate_);
    // What is compared was copied out of the jails before anything looked at it.
    result.assurance = tasks::Assurance::out_of_process;
    return result;
  }

  // Of the change the plain run counts as the first; the base's plain run may be kept from another
  // attempt, with other inputs.
  RunKey run_of(Side side, int number) const {
    RunKey key{side, side, gate_.steps.front(), std::nullopt};
    const int rerun = side == Side::base ? number + 1 : number;
    if (rerun > 0) key.rerun = rerun;
    return key;
  }

  bool is_same(const RunKey& left, const RunKey& right, const std::string& output) const {
    const RunRecord* const one = context_.evidence.find(left);
    const RunRecord* const other = context_.evidence.find(right);
    if (one == nullptr || other == nullptr) return false;
    const OutputRecord* const a = find_output(*one, output);
    const OutputRecord* const b = find_output(*other, output);
    return a != nullptr && b != nullptr && !a->sha256.empty() && a->sha256 == b->sha256;
  }

  Progress tell_difference(const RunKey& left, const RunKey& right, const std::string& output) {
    const tasks::ComparisonKey key{gate_.name, output, left, right, output};
    const tasks::ComparisonRecord* const record = find_comparison(context_, key);
    if (record == nullptr) return Progress{NextCompare{key}, {}, false, nullptr};
    const std::vector<RunKey> base{run_of(Side::base, 0), run_of(Side::base, 1)};
    // The base's own failure to run says nothing of the change.
    const Preparation preparation = prepare(context_, ordered_runs(context_, base), {});
    if (preparation.next) return Progress{NextRun{*preparation.next}, {}, false, nullptr};
    const bool differs_on_base = preparation.failed == nullptr &&
                                 std::ranges::any_of(gate_.outputs, [&](const std::string& name) {
                                   return !is_same(base[0], base[1], name);
                                 });
    return fail(*record, output, differs_on_base);
  }

  Progress fail(const tasks::ComparisonRecord& record, const std::string& output,
                bool differs_on_base) const {
    Progress progress;
    GateResult& result = progress.result;
    result = new_result();
    result.status = GateStatus::failed;
    result.failure = differs_on_base ? FailureClass::base : FailureClass::determinism;
    std::string text;
    if (record.comparison.first)
      text = describe(output, *record.comparison.first, "in one run", "in another");
    else
      text = fmt::format("{} differs from run to run: {}", output,
                         one_line(record.comparison.error, 300));
    text += side_suffix(side_);
    if (differs_on_base) text += "; it differs on the base too";
    const RunRecord* const run = context_.evidence.find(record.key.right);
    result.summary = text;
    result.reasons.push_back(
        {std::move(text), output, run == nullptr ? std::string() : run->id, {}});
    progress.is_final = differs_on_base;
    return progress;
  }

  const Context& context_;
  const tasks::Gate& gate_;
  Side side_;
};

}  // namespace

Progress determinism_progress(const Context& context, const tasks::Gate& gate) {
  return DeterminismGate(context, gate).progress();
}

}  // namespace gates
