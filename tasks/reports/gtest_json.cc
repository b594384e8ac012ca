#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// What the file says of one case, before it is judged.
struct RawCase {
  std::string name;
  std::string status;
  std::string result;
  std::string timestamp;
  std::string message;
  bool has_failures = false;
  TestCase test;
};

struct RawSuite {
  std::string name;
  std::int64_t failures = 0;
  std::vector<RawCase> cases;
};

void add_message(std::string& message, const std::string& text) {
  if (message.size() > kMaxMessage) return;
  if (!message.empty()) message += '\n';
  message += text;
}

// [{"failure": "…", "type": ""}, …]; "skipped" has the same form with "message" (1.13 and newer).
void read_failures(JsonScanner& scanner, std::string_view text_key, RawCase& raw) {
  if (!scanner.enter('[')) return;
  while (scanner.next_item()) {
    if (!scanner.enter('{')) return;
    std::string key;
    while (scanner.next_key(key)) {
      if (key == text_key)
        add_message(raw.message, scanner.string());
      else
        scanner.skip();
    }
    raw.has_failures = raw.has_failures || text_key == "failure";
  }
}

RawCase read_case(JsonScanner& scanner) {
  RawCase raw;
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

RawSuite read_suite(JsonScanner& scanner, std::size_t room) {
  RawSuite suite;
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

// GoogleTest never started a case that it calls run but gives the time zero: its suite's set-up
// failed or skipped (google/googletest#2187).
bool was_never_started(const RawCase& raw) { return raw.timestamp.starts_with("1970-01-01"); }

void set_error(TestCase& test, std::string why) {
  test.status = CaseStatus::error;
  if (test.message.empty()) test.message = std::move(why);
}

TestCase judge(const RawSuite& suite, RawCase raw) {
  TestCase test = std::move(raw.test);
  test.id = clean_text(suite.name + "." + raw.name, kMaxId + 16);
  test.message = clean_text(raw.message, kMaxMessage);
  const bool is_run = raw.status == "RUN";
  const bool is_disabled = raw.name.starts_with("DISABLED_") ||
                           suite.name.starts_with("DISABLED_") || raw.name.contains("/DISABLED_") ||
                           suite.name.contains("/DISABLED_");
  if (raw.has_failures)
    test.status = CaseStatus::failed;
  else if (is_run && raw.result == "COMPLETED")
    test.status = CaseStatus::passed;
  else if (is_run && raw.result == "SKIPPED" && !was_never_started(raw))
    test.status = CaseStatus::skipped;
  else if (is_run && raw.result == "SKIPPED")
    set_error(test, "never started: the set-up of its suite (SetUpTestSuite) failed");
  else if (raw.status == "NOTRUN" && raw.result == "SUPPRESSED")
    test.status = is_disabled ? CaseStatus::disabled : CaseStatus::notrun;
  else
    set_error(test, fmt::format("status '{}' with result '{}'", clean_text(raw.status, 40),
                                clean_text(raw.result, 40)));
  return test;
}

// Failures that the suite counts but no case has: the suite itself failed, so nothing that its
// cases say counts.
void blame_suite(const RawSuite& suite, std::span<TestCase> tests) {
  const auto failed = std::ranges::count(tests, CaseStatus::failed, &TestCase::status);
  if (suite.failures <= failed) return;
  for (TestCase& test : tests) {
    if (test.status != CaseStatus::failed && test.status != CaseStatus::disabled)
      set_error(test, "its suite counts a failure that is in no case");
  }
}

// What the file says of all: used only to notice that something is missing.
struct Totals {
  std::int64_t tests = 0;
  std::int64_t failures = 0;
};

os::Result<void> check_totals(const Totals& totals, const TestReport& report) {
  const auto listed = static_cast<std::int64_t>(report.cases.size());
  const std::int64_t failed = std::ranges::count_if(report.cases, [](const TestCase& test) {
    return test.status == CaseStatus::failed || test.status == CaseStatus::error;
  });
  if (totals.tests > listed)
    return os::fail(os::Code::invalid, fmt::format("the file counts {} tests but lists only {}",
                                                   totals.tests, listed));
  if (totals.failures > failed)
    return os::fail(os::Code::invalid, fmt::format("the file counts {} failures but lists only {}",
                                                   totals.failures, failed));
  return {};
}

}  // namespace

os::Result<TestReport> read_gtest_json(std::string_view bytes) {
  JsonScanner scanner(bytes);
  TestReport report;
  Totals totals;
  bool has_suites = false;
  std::string key;
  if (scanner.enter('{')) {
    while (scanner.next_key(key)) {
      if (key == "tests") {
        totals.tests = scanner.integer().value_or(0);
      } else if (key == "failures") {
        totals.failures = scanner.integer().value_or(0);
      } else if (key == "testsuites") {
        has_suites = true;
        if (!scanner.enter('[')) break;
        while (scanner.next_item()) {
          RawSuite suite = read_suite(scanner, kMaxCases - report.cases.size());
          const std::size_t before = report.cases.size();
          for (RawCase& raw : suite.cases) report.cases.push_back(judge(suite, std::move(raw)));
          blame_suite(suite, std::span(report.cases).subspan(before));
        }
      } else {
        scanner.skip();
      }
    }
  }
  scanner.finish();
  if (scanner.failed()) return os::fail(os::Code::invalid, scanner.error());
  if (!has_suites) return os::fail(os::Code::invalid, "no 'testsuites': not GoogleTest's JSON");
  TRY(check_totals(totals, report));
  return report;
}

}  // namespace tasks::reports
