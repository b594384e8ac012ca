#include "gates/tests_gate.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/assurance.h"
#include "gates/flaky.h"
#include "gates/runs.h"
#include "gates/target_judge.h"
#include "gates/test_lists.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "sandbox/outcome.h"
#include "tasks/evidence.h"
#include "tasks/ids.h"
#include "tasks/policy.h"

namespace gates {

namespace {

using tasks::GateKind;
using tasks::ReportRecord;
using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;

// Is the test in any report of the tests gates, on the base or on the change?
struct Presence {
  bool on_base = false;
  bool on_change = false;
};
Presence find_test(const Context& context, std::string_view id) {
  Presence presence;
  for (const RunRecord& record : context.evidence.runs) {
    const bool is_base = record.key.side == Side::base;
    if (record.key.pair || (!is_base && record.key.of != Side::change)) continue;
    for (const ReportRecord& report : record.reports) {
      const auto& cases = report.parsed.tests.cases;
      const bool is_there = std::ranges::find(cases, id, &tasks::TestCase::id) != cases.end();
      if (is_there) (is_base ? presence.on_base : presence.on_change) = true;
    }
  }
  return presence;
}

// Claims about tests that no gate knows: said once, by the last tests gate of the policy.
void check_unknown_claims(const Context& context, const tasks::Gate& gate, SideFindings& findings) {
  // A later tests gate will see more.
  const auto last = std::ranges::find(context.policy.gates.rbegin(), context.policy.gates.rend(),
                                      GateKind::tests, &tasks::Gate::kind);
  if (last != context.policy.gates.rend() && last->name != gate.name) return;
  const auto complain = [&findings](const std::string& id, std::string_view what) {
    findings.failures.push_back({FailureClass::test,
                                 {fmt::format("{} {}", one_line(id, 200), what), id, {}, {}},
                                 std::nullopt});
  };
  for (const std::string& id : context.evidence.claims.fixes) {
    const Presence presence = find_test(context, id);
    if (!presence.on_base && !presence.on_change) {
      complain(id, "is claimed as fixed, but no report has such a test");
    }
  }
  for (const std::string& id : context.evidence.claims.removes) {
    if (!find_test(context, id).on_base) {
      complain(id, "is claimed as removed, but the base has no such test");
    }
  }
}

class TestsGate {
 public:
  TestsGate(const Context& context, const tasks::Gate& gate)
      : context_(context), gate_(gate), targets_(make_targets()) {}

  Progress progress() {
    const std::vector<RunKey> runs = ordered_runs(context_, targets_);
    std::size_t begin = 0;
    while (begin < runs.size()) {
      const std::size_t end = group_end(runs, begin);
      if (auto done = advance_group({runs.begin() + static_cast<std::ptrdiff_t>(begin),
                                     runs.begin() + static_cast<std::ptrdiff_t>(end)})) {
        return *std::move(done);
      }
      begin = end;
    }
    check_unknown_claims(context_, gate_, change_);
    return finish();
  }

 private:
  std::vector<RunKey> make_targets() const {
    std::vector<RunKey> targets;
    for (const tasks::StepName& name : gate_.steps) {
      const Step* const step = context_.policy.find_step(name);
      if (step != nullptr && !step->from_base) {
        targets.push_back(key_for(context_.policy, name, Side::base));
      }
      targets.push_back(key_for(context_.policy, name, Side::change));
      if (context_.is_escalated()) targets.push_back(key_for(context_.policy, name, Side::mixed));
    }
    return targets;
  }

  // Runs of one side, all early or all late.
  std::size_t group_end(const std::vector<RunKey>& runs, std::size_t begin) const {
    const bool late = is_late(context_.policy, runs[begin].step);
    std::size_t end = begin;
    while (end < runs.size() && runs[end].of == runs[begin].of &&
           is_late(context_.policy, runs[end].step) == late) {
      ++end;
    }
    return end;
  }

  // Runs and judges one group; a value ends the gate.
  std::optional<Progress> advance_group(const std::vector<RunKey>& runs) {
    const Side of = runs.front().of;
    if (of == Side::mixed && broken_build_ != nullptr) return std::nullopt;
    const Preparation preparation = prepare(context_, runs, targets_);
    if (preparation.next) return Progress{NextRun{*preparation.next}, {}, false, nullptr};
    if (preparation.failed != nullptr) return prerequisite_failed(*preparation.failed);
    for (const RunKey& key : runs) {
      if (std::ranges::find(targets_, key) == targets_.end()) continue;
      if (of == Side::base) {
        if (auto failed = check_base(key)) return failed;
      } else {
        judge_target(context_, key, of == Side::mixed ? mixed_ : change_);
      }
    }
    if (!change_.has_failed() && !mixed_.has_failed()) return std::nullopt;
    if (const auto rerun = settle_flaky()) return Progress{NextRun{*rerun}, {}, false, nullptr};
    if (change_.has_failed() || mixed_.has_failed()) return finish();
    return std::nullopt;
  }

  // Within the gate's budget: tells tests that fail from those that are flaky. A value is the run
  // that is needed to know. Where something else has failed too, or a test fails every time, the
  // gate fails whatever reruns say, and no more of them are made.
  std::optional<RunKey> settle_flaky() {
    if (gate_.reruns == 0) return std::nullopt;
    std::vector<RunKey> runs;
    for (const SideFindings* const side : {&change_, &mixed_}) {
      for (const auto* const failures : {&side->failures, &side->base_failures}) {
        for (const SideFindings::Failure& failure : *failures) {
          if (!failure.rerun) return std::nullopt;
          if (std::ranges::find(runs, *failure.rerun) == runs.end()) runs.push_back(*failure.rerun);
        }
      }
    }
    for (const RunKey& key : runs)
      if (auto missing = missing_rerun(context_, key, gate_.reruns)) return missing;
    for (SideFindings* const side : {&change_, &mixed_})
      if (has_steady_failure(*side)) return std::nullopt;
    for (const RunKey& key : runs) {
      const RunKey base{Side::base, Side::base, key.step, std::nullopt};
      if (auto missing = missing_rerun(context_, base, gate_.reruns)) return missing;
    }
    for (SideFindings* const side : {&change_, &mixed_}) set_flaky_apart(*side);
    return std::nullopt;
  }

  // Says of each failure how often it was tried; true if one of them never passed.
  bool has_steady_failure(SideFindings& side) const {
    bool is_steady = false;
    for (auto* const failures : {&side.failures, &side.base_failures}) {
      for (SideFindings::Failure& failure : *failures) {
        const PassRate rate = pass_rate(context_, *failure.rerun, failure.reason.where);
        is_steady = is_steady || rate.passed == 0;
        if (rate.runs < 2) continue;
        failure.reason.text += "; passed " + rate_text(rate);
        failure.reason.figures["passed"] = rate.passed;
        failure.reason.figures["runs"] = rate.runs;
      }
    }
    return is_steady;
  }

  // A test that is flaky on the base too is noted; one that passes there always or never, or that
  // the base does not have, leaves the gate inconclusive: a pass by luck hides nothing.
  void set_flaky_apart(SideFindings& side) {
    for (auto* const failures : {&side.failures, &side.base_failures}) {
      for (SideFindings::Failure& failure : *failures) {
        const RunKey base{Side::base, Side::base, failure.rerun->step, std::nullopt};
        const PassRate there = pass_rate(context_, base, failure.reason.where);
        const bool is_known_flaky = there.passed > 0 && !there.is_always();
        failure.reason.text +=
            there.runs == 0 ? "; the base does not have it" : ", on the base " + rate_text(there);
        failure.reason.text = "flaky: " + failure.reason.text;
        failure.reason.figures["base_passed"] = there.passed;
        failure.reason.figures["base_runs"] = there.runs;
        (is_known_flaky ? side.tests.notes : flaky_).push_back(std::move(failure.reason));
      }
      failures->clear();
    }
  }

  std::optional<Progress> prerequisite_failed(const RunRecord& record) {
    const bool is_infra = prerequisite_failure(context_, record) == FailureClass::infra;
    if (record.key.of != Side::mixed || is_infra) {
      Progress progress = failed_prerequisite(context_, gate_, record);
      progress.result.assurance = tests_assurance(context_, gate_);
      return progress;
    }
    const MixedQuestion question = ask_mixed(context_, record);
    if (question.next) return Progress{NextRun{*question.next}, {}, false, nullptr};
    if (!question.is_mixed_broken) {
      return failed_prerequisite(context_, gate_,
                                 question.failed != nullptr ? *question.failed : record);
    }
    broken_build_ = &record;
    return std::nullopt;
  }

  // The base must give a list of tests; whether they pass there does not matter.
  std::optional<Progress> check_base(const RunKey& key) const {
    const Step* const step = context_.policy.find_step(key.step);
    const RunRecord* const record = context_.evidence.find(key);
    const auto blame = [this, &key](FailureClass failure, std::string text, std::string run) {
      Progress progress;
      progress.is_final = true;
      progress.result = new_result();
      progress.result.status = GateStatus::failed;
      progress.result.failure = failure;
      progress.result.summary = text;
      progress.result.reasons.push_back({std::move(text), key.step.str(), std::move(run), {}});
      return progress;
    };
    if (step == nullptr || record == nullptr) {
      return blame(FailureClass::base,
                   key.step.str() + " did not run on the base: a step that it needs failed", {});
    }
    const Fault fault = fault_of(*step, *record);
    if (fault == Fault::machine) {
      return blame(FailureClass::infra, describe_fault(*step, *record), record->id);
    }
    if (fault != Fault::none && fault != Fault::exit) {
      return blame(FailureClass::base, describe_fault(*step, *record), record->id);
    }
    for (const tasks::ReportSpec& spec : step->reports) {
      if (!is_of_tests(spec)) continue;
      const std::string problem = report_problem(*record, spec);
      if (problem.empty()) continue;
      return blame(
          FailureClass::base,
          fmt::format("{} {} and left no readable report {} on the base: {}", key.step.str(),
                      sandbox::describe(record->outcome), spec.path, problem),
          record->id);
    }
    return std::nullopt;
  }

  GateResult new_result() const {
    GateResult result;
    result.name = gate_.name;
    result.kind = gate_.kind;
    result.assurance = tests_assurance(context_, gate_);
    return result;
  }

  Progress finish() {
    Progress progress;
    progress.broken_mixed = broken_build_;
    progress.result = new_result();
    GateResult& result = progress.result;
    for (SideFindings* const side : {&change_, &mixed_}) {
      for (SideFindings::Failure& failure : side->failures) {
        if (result.failure == FailureClass::none) result.failure = failure.failure;
        result.reasons.push_back(std::move(failure.reason));
      }
    }
    for (SideFindings* const side : {&change_, &mixed_}) {
      for (SideFindings::Failure& failure : side->base_failures) {
        if (result.failure == FailureClass::none) result.failure = failure.failure;
        result.reasons.push_back(std::move(failure.reason));
      }
    }
    const bool is_failed = result.failure != FailureClass::none;
    result.status = is_failed ? GateStatus::failed : GateStatus::passed;
    if (!is_failed && !flaky_.empty()) {
      result.status = GateStatus::inconclusive;
      result.failure = FailureClass::flaky;
    }
    append(result.reasons, std::move(flaky_));
    progress.is_final = result.failure == FailureClass::infra;
    result.summary = summary(result);
    if (broken_build_ != nullptr) {
      const Step* const step = context_.policy.find_step(broken_build_->key.step);
      result.reasons.push_back({describe_fault(*step, *broken_build_),
                                broken_build_->key.step.str(),
                                broken_build_->id,
                                {}});
      // Only tests that the change brought itself have run.
      result.assurance = tasks::Assurance::in_process;
    }
    append(result.reasons, std::move(change_.tests.notes));
    append(result.reasons, std::move(mixed_.tests.notes));
    bound_reasons(result.reasons);
    return progress;
  }

  // "12 tests passed, 2 of them new; 1 skipped".
  std::string summary(const GateResult& result) const {
    const TestFindings& tests = change_.tests;
    std::string text = counted(tests.passed, "test") + " passed";
    if (tests.fresh > 0) text += fmt::format(", {} of them new", tests.fresh);
    if (tests.fixed > 0) text += fmt::format(", {} of them failing on the base", tests.fixed);
    if (tests.skipped > 0) text += fmt::format("; {} skipped", tests.skipped);
    if (result.status != GateStatus::passed) {
      text = fmt::format(
          "{}; {}", counted(static_cast<std::int64_t>(result.reasons.size()), "failure"), text);
    }
    if (mixed_.tests.passed > 0) {
      text += fmt::format("; with the base's guarded files: {} passed", mixed_.tests.passed);
    }
    if (broken_build_ != nullptr) text += "; the base's own checks could not be run against it";
    return text;
  }

  const Context& context_;
  const tasks::Gate& gate_;
  std::vector<RunKey> targets_;
  SideFindings change_;
  SideFindings mixed_;
  std::vector<Reason> flaky_;
  const RunRecord* broken_build_ = nullptr;
};

}  // namespace

Progress tests_progress(const Context& context, const tasks::Gate& gate) {
  return TestsGate(context, gate).progress();
}

}  // namespace gates
