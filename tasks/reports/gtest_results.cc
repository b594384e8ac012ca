#include "tasks/reports/gtest_results.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// GoogleTest never started a case that it calls run but gives the time zero: its suite's set-up
// failed or skipped (google/googletest#2187).
bool was_never_started(const GtestCase& raw) { return raw.timestamp.starts_with("1970-01-01"); }

void set_error(TestCase& test, std::string why) {
  test.status = CaseStatus::error;
  if (test.message.empty()) test.message = std::move(why);
}

TestCase judge_gtest_case(const std::string& suite, GtestCase raw) {
  TestCase test = std::move(raw.test);
  test.id = clean_text(suite + "." + raw.name, kMaxId + 16);
  test.message = clean_text(raw.message, kMaxMessage);
  const bool is_run = raw.status == "RUN";
  const bool is_disabled = raw.name.starts_with("DISABLED_") || suite.starts_with("DISABLED_") ||
                           raw.name.contains("/DISABLED_") || suite.contains("/DISABLED_");
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
void blame_suite(std::int64_t counted, std::span<TestCase> tests) {
  const auto failed = std::ranges::count(tests, CaseStatus::failed, &TestCase::status);
  if (counted <= failed) return;
  for (TestCase& test : tests) {
    if (test.status != CaseStatus::failed && test.status != CaseStatus::disabled)
      set_error(test, "its suite counts a failure that is in no case");
  }
}

}  // namespace

void GtestCase::add_message(std::string_view text) {
  if (message.size() > kMaxMessage) return;
  if (!message.empty()) message += '\n';
  message += text;
}

void judge_gtest_suite(GtestSuite suite, TestReport& report) {
  const std::size_t before = report.cases.size();
  for (GtestCase& raw : suite.cases)
    report.cases.push_back(judge_gtest_case(suite.name, std::move(raw)));
  blame_suite(suite.failures, std::span(report.cases).subspan(before));
}

os::Result<void> check_gtest_totals(std::int64_t tests, std::int64_t failures,
                                    const TestReport& report) {
  const auto listed = static_cast<std::int64_t>(report.cases.size());
  const std::int64_t failed = std::ranges::count_if(report.cases, [](const TestCase& test) {
    return test.status == CaseStatus::failed || test.status == CaseStatus::error;
  });
  if (tests > listed)
    return os::fail(os::Code::invalid,
                    fmt::format("the file counts {} tests but lists only {}", tests, listed));
  if (failures > failed)
    return os::fail(os::Code::invalid,
                    fmt::format("the file counts {} failures but lists only {}", failures, failed));
  return {};
}

}  // namespace tasks::reports
