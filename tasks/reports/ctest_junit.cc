#include <algorithm>

#include "tasks/reports/junit.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// GoogleTest's words for a failed case, in output that also matched a skip expression: a case that
// failed and then skipped looks skipped to CTest.
bool says_failed(std::string_view output) {
  return output.starts_with("[  FAILED  ] ") || output.contains("\n[  FAILED  ] ");
}

// Skips that somebody asked for; every other "notrun" is a case that could not run.
bool is_wanted_skip(std::string_view message) {
  return message.starts_with("SKIP_RETURN_CODE=") || message == "SKIP_REGULAR_EXPRESSION_MATCHED";
}

TestCase judge_ctest_case(const JunitCase& raw) {
  TestCase test;
  const JunitOutcome* const skipped = raw.find("skipped");
  const JunitOutcome* const failure = raw.find("failure");
  std::string_view message = skipped == nullptr ? std::string_view() : skipped->message;
  test.id = clean_text(raw.name, kMaxId + 16);
  test.milliseconds = milliseconds_of(raw.time);
  bool shows_output = true;
  if (failure != nullptr || raw.find("error") != nullptr || raw.status == "fail") {
    test.status = CaseStatus::failed;
    message = failure == nullptr ? std::string_view() : failure->message;
  } else if (raw.status == "run" && skipped == nullptr) {
    test.status = CaseStatus::passed;
    shows_output = false;
  } else if (raw.status == "disabled") {
    test.status = CaseStatus::disabled;
    shows_output = false;
  } else if (raw.status == "notrun" && is_wanted_skip(message)) {
    test.status = says_failed(raw.output) ? CaseStatus::failed : CaseStatus::skipped;
  } else {
    test.status = CaseStatus::error;
    if (message.empty()) message = "it did not run, and nothing says why";
  }
  if (shows_output) test.message = junit_message({{}, {}, message, {}}, raw.output);
  return test;
}

}  // namespace

os::Result<TestReport> read_ctest_junit(std::string_view bytes) {
  TestReport report;
  JunitVisitor visitor;
  visitor.take_case = [&report](const JunitCase& raw) -> os::Result<void> {
    if (raw.status.empty())
      return os::fail(os::Code::invalid, "a <testcase> without a status: not CTest's JUnit");
    report.cases.push_back(judge_ctest_case(raw));
    return {};
  };
  visitor.take_suite = [](const JunitSuite& suite) -> os::Result<void> {
    if (suite.element != "testsuite")
      return os::fail(os::Code::invalid, "the root element is not <testsuite>: not CTest's JUnit");
    return check_listed(suite);
  };
  TRY(read_junit(bytes, visitor));
  return report;
}

}  // namespace tasks::reports
