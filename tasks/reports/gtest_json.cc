#include <algorithm>

#include <fmt/format.h>

#include "tasks/reports/gtest_results.h"
#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// [{"failure": "…", "type": ""}, …]; "skipped" has the same form with "message" (1.13 and newer).
void read_failures(JsonScanner& scanner, std::string_view text_key, GtestCase& raw) {
  if (!scanner.enter('[')) return;
  while (scanner.next_item()) {
    if (!scanner.enter('{')) return;
    std::string key;
    while (scanner.next_key(key)) {
      if (key == text_key)
        raw.add_message(scanner.string());
      else
        scanner.skip();
    }
    raw.has_failures = raw.has_failures || text_key == "failure";
  }
}

GtestCase read_case(JsonScanner& scanner) {
  GtestCase raw;
  std::string key;
  if (!scanner.enter('{')) return raw;
  while (scanner.next_key(key)) {
    if (key == "name")
      raw.name = scanner.string();
    else if (key == "status")
      raw.status = scanner.string();
    else if (key == "result")
      raw.result = scanner.string();
    else if (key == "timestamp")
      raw.timestamp = scanner.string();
    else if (key == "time")
      raw.test.milliseconds = milliseconds_of(scanner.string());
    else if (key == "file")
      raw.test.file = clean_text(scanner.string(), kMaxFileName);
    else if (key == "line")
      raw.test.line = std::max<std::int64_t>(scanner.integer().value_or(0), 0);
    else if (key == "failures")
      read_failures(scanner, "failure", raw);
    else if (key == "skipped")
      read_failures(scanner, "message", raw);
    else
      scanner.skip();
  }
  return raw;
}

GtestSuite read_suite(JsonScanner& scanner, std::size_t room) {
  GtestSuite suite;
  std::string key;
  if (!scanner.enter('{')) return suite;
  bool has_cases = false;
  while (scanner.next_key(key)) {
    if (key == "name") {
      suite.name = scanner.string();
    } else if (key == "failures") {
      suite.failures = scanner.integer().value_or(0);
    } else if (key == "testsuite") {
      has_cases = true;
      if (!scanner.enter('[')) break;
      while (scanner.next_item()) {
        if (suite.cases.size() >= room) scanner.fail("over 100,000 test cases");
        suite.cases.push_back(read_case(scanner));
      }
    } else {
      scanner.skip();
    }
  }
  if (!has_cases) scanner.fail("a suite without 'testsuite'");
  return suite;
}

}  // namespace

os::Result<TestReport> read_gtest_json(std::string_view bytes) {
  JsonScanner scanner(bytes);
  TestReport report;
  std::int64_t tests = 0;
  std::int64_t failures = 0;
  bool has_suites = false;
  std::string key;
  if (scanner.enter('{')) {
    while (scanner.next_key(key)) {
      if (key == "tests") {
        tests = scanner.integer().value_or(0);
      } else if (key == "failures") {
        failures = scanner.integer().value_or(0);
      } else if (key == "testsuites") {
        has_suites = true;
        if (!scanner.enter('[')) break;
        while (scanner.next_item())
          judge_gtest_suite(read_suite(scanner, kMaxCases - report.cases.size()), report);
      } else {
        scanner.skip();
      }
    }
  }
  scanner.finish();
  if (scanner.failed()) return os::fail(os::Code::invalid, scanner.error());
  if (!has_suites) return os::fail(os::Code::invalid, "no 'testsuites': not GoogleTest's JSON");
  TRY(check_gtest_totals(tests, failures, report));
  return report;
}

}  // namespace tasks::reports
