#include <algorithm>

#include "tasks/reports/junit.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// A test that passed after a retry carries <flakyFailure>; one that never passed carries <failure>
// and a <rerunFailure> for each retry.
bool is_retry(std::string_view element) {
  return element == "flakyFailure" || element == "flakyError" || element == "rerunFailure" ||
         element == "rerunError";
}

TestCase judge_nextest_case(const JunitCase& raw) {
  TestCase test;
  const std::string suite = clean_text(raw.suite, kMaxId);
  const std::string name = clean_text(raw.name, kMaxId + 16);
  test.id = suite.empty() ? name : suite + "." + name;
  test.milliseconds = milliseconds_of(raw.time);
  test.status = CaseStatus::passed;
  const auto bad = std::ranges::find_if(raw.outcomes, [](const JunitOutcome& outcome) {
    return outcome.element != "skipped" && !is_retry(outcome.element);
  });
  const auto retry = std::ranges::find_if(
      raw.outcomes, [](const JunitOutcome& outcome) { return is_retry(outcome.element); });
  if (bad != raw.outcomes.end()) {
    test.status = bad->element == "failure" ? CaseStatus::failed : CaseStatus::error;
    test.message = junit_message(*bad, raw.error_output.empty() ? raw.output : raw.error_output);
  } else if (retry != raw.outcomes.end()) {
    // A retry that failed too, and no word of the end: nothing passed.
    const bool is_flaky = retry->element.starts_with("flaky");
    test.status = is_flaky ? CaseStatus::flaky : CaseStatus::failed;
    test.message = junit_message(*retry, {});
  } else if (const JunitOutcome* const skipped = raw.find("skipped")) {
    test.status = CaseStatus::skipped;
    test.message = junit_message(*skipped, {});
  }
  return test;
}

}  // namespace

os::Result<TestReport> read_nextest_junit(std::string_view bytes) {
  TestReport report;
  std::int64_t counted = 0;
  JunitVisitor visitor;
  visitor.take_case = [&report](const JunitCase& raw) -> os::Result<void> {
    report.cases.push_back(judge_nextest_case(raw));
    return {};
  };
  visitor.take_suite = [&counted](const JunitSuite& suite) -> os::Result<void> {
    counted = std::max(counted, suite.failures + suite.errors);
    return check_listed(suite);
  };
  TRY(read_junit(bytes, visitor));
  TRY(check_bad_listed(counted, report.cases));
  return report;
}

}  // namespace tasks::reports
