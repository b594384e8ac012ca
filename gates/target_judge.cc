#include "gates/target_judge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/text.h"
#include "sandbox/outcome.h"

namespace gates {

using tasks::ReportRecord;
using tasks::RunKey;
using tasks::RunRecord;
using tasks::Side;
using tasks::Step;

namespace {

const ReportRecord* find_report(const RunRecord& record, const tasks::ReportSpec& spec) {
  const auto found = std::ranges::find_if(record.reports, [&spec](const ReportRecord& report) {
    return report.format == spec.format && report.path == spec.path;
  });
  return found == record.reports.end() ? nullptr : &*found;
}

}  // namespace

bool is_of_tests(const tasks::ReportSpec& spec) {
  return tasks::report_kind(spec.format) == tasks::ReportKind::tests;
}

std::string report_problem(const RunRecord& record, const tasks::ReportSpec& spec) {
  const ReportRecord* const report = find_report(record, spec);
  if (report == nullptr) return "missing";
  if (!report->error.empty()) return one_line(report->error);
  return one_line(report->parsed.error);
}

namespace {

// `key`: the run that they were found in.
void add(SideFindings& sum, TestFindings&& found, const RunKey& key) {
  const auto move_to = [&](std::vector<SideFindings::Failure>& to, std::vector<Reason>& from,
                           FailureClass failure) {
    for (Reason& reason : from) {
      const bool may_be_flaky = key.side != Side::judge && found.suspects.contains(reason.where);
      to.push_back({failure, std::move(reason), may_be_flaky ? std::optional(key) : std::nullopt});
    }
  };
  move_to(sum.failures, found.failures, FailureClass::test);
  move_to(sum.base_failures, found.base_failures, FailureClass::base);
  append(sum.tests.notes, std::move(found.notes));
  sum.tests.passed += found.passed;
  sum.tests.fresh += found.fresh;
  sum.tests.fixed += found.fixed;
  sum.tests.bad += found.bad;
  sum.tests.skipped += found.skipped;
}

// What one target run of the change or of the mixed tree says.
class TargetJudge {
 public:
  TargetJudge(const Context& context, const RunKey& key, SideFindings& findings)
      : context_(context), key_(key), findings_(findings) {}

  void judge() {
    const Step* const step = context_.policy.find_step(key_.step);
    const RunRecord* const record = context_.evidence.find(key_);
    if (step == nullptr || record == nullptr) {
      fail(FailureClass::test, "did not run: a step that it needs failed", {});
      return;
    }
    const Fault fault = fault_of(*step, *record);
    if (fault == Fault::machine) {
      fail_words(FailureClass::infra, describe_fault(*step, *record), record->id);
    } else if (fault == Fault::limit) {
      fail_words(FailureClass::limit, describe_fault(*step, *record), record->id);
    } else {
      judge_reports(*step, *record, fault);
      judge_partner(*step);
    }
  }

 private:
  void fail_words(FailureClass failure, std::string text, const std::string& run) {
    findings_.failures.push_back(
        {failure, {std::move(text), key_.step.str(), run, {}}, std::nullopt});
  }
  void fail(FailureClass failure, std::string_view what, const std::string& run) {
    fail_words(failure, fmt::format("{} {}{}", key_.step.str(), what, side_suffix(key_.of)), run);
  }

  // What the judge spoke with has to end well too.
  void judge_partner(const Step& step) {
    const Step* const partner = context_.policy.find_partner(step);
    if (partner == nullptr) return;
    const RunRecord* const record =
        context_.evidence.find(RunKey{key_.of, key_.of, partner->name, std::nullopt});
    if (record == nullptr) {
      fail(FailureClass::internal, "ran without " + partner->name.str(), {});
    } else if (const Fault fault = fault_of(*partner, *record); fault != Fault::none) {
      findings_.failures.push_back(
          {fault == Fault::limit ? FailureClass::limit : FailureClass::test,
           {describe_fault(*partner, *record), partner->name.str(), record->id, {}},
           std::nullopt});
    }
  }

  void judge_reports(const Step& step, const RunRecord& record, Fault fault) {
    if (fault == Fault::crash) {
      fail_words(FailureClass::test, describe_fault(step, record), record.id);
    }
    const std::size_t failures_before = findings_.failures.size();
    const std::int64_t bad_before = findings_.tests.bad;
    const std::int64_t run_before = bad_before + findings_.tests.passed;
    for (const tasks::ReportSpec& spec : step.reports) {
      if (is_of_tests(spec)) judge_report(spec, record);
    }
    const bool has_complained = findings_.failures.size() != failures_before;
    const std::int64_t bad = findings_.tests.bad - bad_before;
    if (findings_.tests.bad + findings_.tests.passed == run_before && !has_complained) {
      fail(FailureClass::test, "ran no test", record.id);
    } else if (fault == Fault::exit && bad == 0 && !has_complained) {
      fail(FailureClass::test,
           fmt::format("exited with {} although no test failed", record.outcome.code), record.id);
    }
    if (fault == Fault::output) {
      fail_words(FailureClass::report, describe_fault(step, record), record.id);
    }
  }

  void judge_report(const tasks::ReportSpec& spec, const RunRecord& record) {
    const std::string problem = report_problem(record, spec);
    if (!problem.empty()) {
      // How it ended says why there is no report: an early exit, a missing program.
      fail(FailureClass::report,
           fmt::format("{} and left no readable report {}: {}", sandbox::describe(record.outcome),
                       spec.path, problem),
           record.id);
      return;
    }
    TestLists lists;
    lists.subject = &find_report(record, spec)->parsed.tests;
    lists.claims = &context_.evidence.claims;
    lists.of = key_.of;
    lists.run = record.id;
    if (key_.side != Side::judge) {
      const RunRecord* const base =
          context_.evidence.find(RunKey{Side::base, Side::base, key_.step, std::nullopt});
      const ReportRecord* const report = base == nullptr ? nullptr : find_report(*base, spec);
      if (report == nullptr) {
        fail(FailureClass::internal, "has no report of the base to compare with", record.id);
        return;
      }
      lists.base = &report->parsed.tests;
    }
    add(findings_, compare_tests(lists), key_);
  }

  const Context& context_;
  const RunKey& key_;
  SideFindings& findings_;
};

}  // namespace

void judge_target(const Context& context, const RunKey& key, SideFindings& findings) {
  TargetJudge(context, key, findings).judge();
}

}  // namespace gates
