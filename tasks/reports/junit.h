// JUnit XML as many tools write it: what all its dialects have in common. Each dialect's own file
// says what its elements mean.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/reports/report.h"

namespace tasks::reports {

// A child of <testcase> that says how it ended: failure, error, skipped, flakyFailure …
struct JunitOutcome {
  std::string_view element;
  std::string_view type;
  std::string_view message;
  std::string_view text;
};

// One <testcase>. All texts are borrowed from the parsed file and hold whatever the file holds, as
// valid UTF-8; a missing attribute is empty.
struct JunitCase {
  std::string_view suite;        // name of the nearest <testsuite>
  std::size_t suite_number = 0;  // which <testsuite> it stands in, in the file's order
  std::string_view class_name;
  std::string_view name;
  std::string_view status;
  std::string_view result;
  std::string_view time;
  std::string_view timestamp;
  std::string_view file;
  std::int64_t line = 0;
  std::string_view output;        // <system-out>
  std::string_view error_output;  // <system-err>
  std::vector<JunitOutcome> outcomes;

  // The first outcome of that element, or nullptr.
  const JunitOutcome* find(std::string_view element) const;
};

// What one <testsuite> or the root counts itself: trusted only to notice that something is missing.
struct JunitSuite {
  std::string_view element;  // "testsuite", or "testsuites" for a root of that name
  std::string_view name;
  std::int64_t tests = 0;
  std::int64_t failures = 0;
  std::int64_t errors = 0;
  std::size_t listed = 0;  // its cases, those of nested suites too
};

// Takes suites and cases of a file one after another; an error ends the reading.
struct JunitVisitor {
  std::function<os::Result<void>(const JunitCase&)> take_case;
  // After all cases, once for each suite in the order of suite_number; the root is number 0.
  std::function<os::Result<void>(const JunitSuite&)> take_suite;
};

// Reads a file: the root is <testsuites> or <testsuite>, suites nest. Bytes that are no UTF-8
// become U+FFFD. invalid: not well-formed, a document type, nesting over 64, over 2,000,000 nodes,
// over 100,000 cases, a case without a name.
os::Result<void> read_junit(std::string_view bytes, const JunitVisitor& visitor);

// invalid if the suite counts more cases than it lists.
os::Result<void> check_listed(const JunitSuite& suite);

// invalid if a file that counts failures and errors lists no failed or erroneous case.
os::Result<void> check_bad_listed(std::int64_t counted, const std::vector<TestCase>& cases);

// The words of a case's failure: message, text and the end of its output, cut to kMaxMessage.
std::string junit_message(const JunitOutcome& outcome, std::string_view output);

// Gathers cases of dialects in which one test may stand several times (a failure in the test and
// another in its teardown; a repeated section): the worst of them counts.
class CaseMerger {
 public:
  void add(TestCase test);
  std::vector<TestCase> take() { return std::move(cases_); }

 private:
  std::vector<TestCase> cases_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace tasks::reports
