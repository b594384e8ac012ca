#include <algorithm>

#include "tasks/reports/junit.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// Catch2 reports SKIP() and a failure that [!mayfail] or [!shouldfail] allows alike, as <skipped>,
// and may write a <failure> beside it (catchorg/Catch2#2116).
TestCase judge_catch2_case(const JunitCase& raw) {
  TestCase test;
  test.id = raw.class_name.empty() ? std::string() : clean_text(raw.class_name, kMaxId) + ".";
  test.id += clean_text(raw.name, kMaxId + 16);
  test.milliseconds = milliseconds_of(raw.time);
  test.status = CaseStatus::passed;
  const JunitOutcome* const skipped = raw.find("skipped");
  const auto bad = std::ranges::find_if(
      raw.outcomes, [](const JunitOutcome& outcome) { return outcome.element != "skipped"; });
  const bool is_allowed = skipped != nullptr && skipped->message.contains("tagged with !mayfail");
  if (is_allowed) {
    test.status = CaseStatus::xfail;
    test.message = junit_message(bad == raw.outcomes.end() ? *skipped : *bad, {});
  } else if (bad != raw.outcomes.end()) {
    test.status = bad->element == "failure" ? CaseStatus::failed : CaseStatus::error;
    test.message = junit_message(*bad, raw.output);
  } else if (skipped != nullptr) {
    test.status = CaseStatus::skipped;
    test.message = junit_message(*skipped, {});
  }
  return test;
}

}  // namespace

os::Result<TestReport> read_catch2_junit(std::string_view bytes) {
  CaseMerger cases;
  std::int64_t counted = 0;
  JunitVisitor visitor;
  visitor.take_case = [&cases](const JunitCase& raw) -> os::Result<void> {
    cases.add(judge_catch2_case(raw));
    return {};
  };
  // `tests` counts assertions.
  visitor.take_suite = [&counted](const JunitSuite& suite) -> os::Result<void> {
    counted = std::max(counted, suite.failures + suite.errors);
    return {};
  };
  TRY(read_junit(bytes, visitor));
  TestReport report{cases.take()};
  TRY(check_bad_listed(counted, report.cases));
  return report;
}

}  // namespace tasks::reports
