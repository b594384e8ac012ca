#include <algorithm>
#include <map>

#include "tasks/reports/gtest_results.h"
#include "tasks/reports/junit.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

GtestCase case_of(const JunitCase& raw) {
  GtestCase test;
  test.name = raw.name;
  test.status = upper(raw.status);
  test.result = upper(raw.result);
  test.timestamp = raw.timestamp;
  test.test.milliseconds = milliseconds_of(raw.time);
  test.test.file = clean_text(raw.file, kMaxFileName);
  test.test.line = raw.line;
  for (const JunitOutcome& outcome : raw.outcomes) {
    test.add_message(outcome.message.empty() ? outcome.text : outcome.message);
    // Anything but a skip is a failure, whatever a later version calls it.
    test.has_failures = test.has_failures || outcome.element != "skipped";
  }
  return test;
}

}  // namespace

os::Result<TestReport> read_gtest_xml(std::string_view bytes) {
  // By the number of their <testsuite>.
  std::map<std::size_t, GtestSuite> suites;
  TestReport report;
  std::size_t number = 0;
  JunitSuite root;
  JunitVisitor visitor;
  visitor.take_case = [&suites](const JunitCase& raw) -> os::Result<void> {
    if (raw.result.empty())
      return os::fail(os::Code::invalid, "a <testcase> without 'result': not GoogleTest's XML");
    suites[raw.suite_number].cases.push_back(case_of(raw));
    return {};
  };
  visitor.take_suite = [&](const JunitSuite& suite) -> os::Result<void> {
    if (number == 0) {
      if (suite.element != "testsuites")
        return os::fail(os::Code::invalid,
                        "the root element is not <testsuites>: not GoogleTest's XML");
      root = suite;
    }
    const auto found = suites.find(number++);
    if (found == suites.end()) return {};
    found->second.name = suite.name;
    found->second.failures = suite.failures + suite.errors;
    judge_gtest_suite(std::move(found->second), report);
    return {};
  };
  TRY(read_junit(bytes, visitor));
  TRY(check_gtest_totals(root.tests, root.failures + root.errors, report));
  return report;
}

}  // namespace tasks::reports
