#include "tasks/reports/junit.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// "tests.test_ring.TestRing" and "test_wraps[3]" give one dotted name; a module that could not be
// collected has no class name.
std::string pytest_id_of(const JunitCase& raw) {
  const std::string name = clean_text(raw.name, kMaxId + 16);
  return raw.class_name.empty() ? name : clean_text(raw.class_name, kMaxId + 16) + "." + name;
}

// Set-up and teardown that fail are errors beside whatever the test itself did.
TestCase judge_pytest_case(const JunitCase& raw) {
  TestCase test;
  test.id = pytest_id_of(raw);
  test.milliseconds = milliseconds_of(raw.time);
  test.file = clean_text(raw.file, kMaxFileName);
  // xunit1 counts lines from 0.
  test.line = raw.file.empty() ? 0 : raw.line + 1;
  test.status = CaseStatus::passed;
  const JunitOutcome* shown = nullptr;
  for (const JunitOutcome& outcome : raw.outcomes) {
    CaseStatus status = CaseStatus::error;
    if (outcome.element == "failure")
      status = CaseStatus::failed;
    else if (outcome.element == "skipped")
      status = outcome.type == "pytest.xfail" ? CaseStatus::xfail : CaseStatus::skipped;
    const bool is_worse = shown == nullptr || status == CaseStatus::error ||
                          (status == CaseStatus::failed && test.status != CaseStatus::error);
    if (!is_worse) continue;
    test.status = status;
    shown = &outcome;
  }
  if (shown != nullptr) test.message = junit_message(*shown, {});
  return test;
}

}  // namespace

os::Result<TestReport> read_pytest_junit(std::string_view bytes) {
  CaseMerger cases;
  JunitVisitor visitor;
  std::int64_t counted = 0;
  visitor.take_case = [&cases](const JunitCase& raw) -> os::Result<void> {
    cases.add(judge_pytest_case(raw));
    return {};
  };
  // `tests` counts ends and not cases (pytest-dev/pytest#3850): only the bad ones are compared.
  visitor.take_suite = [&counted](const JunitSuite& suite) -> os::Result<void> {
    counted = std::max(counted, suite.failures + suite.errors);
    if (suite.listed == 0) return check_listed(suite);
    return {};
  };
  TRY(read_junit(bytes, visitor));
  TestReport report{cases.take()};
  TRY(check_bad_listed(counted, report.cases));
  return report;
}

}  // namespace tasks::reports
