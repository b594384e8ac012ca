// What GoogleTest's files say, in XML and JSON alike, and what it means.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/reports/report.h"

namespace tasks::reports {

// What the file says of one case, before it is judged.
struct GtestCase {
  std::string name;
  std::string status;  // RUN, NOTRUN (upper case, as in JSON)
  std::string result;  // COMPLETED, SKIPPED, SUPPRESSED
  std::string timestamp;
  std::string message;  // of all failures and skips
  bool has_failures = false;
  TestCase test;  // milliseconds, file and line

  // Adds a failure's or a skip's text on a line of its own, up to kMaxMessage.
  void add_message(std::string_view text);
};

struct GtestSuite {
  std::string name;
  std::int64_t failures = 0;  // as the file counts them
  std::vector<GtestCase> cases;
};

// Judges the cases of a suite and appends them.
void judge_gtest_suite(GtestSuite suite, TestReport& report);

// invalid if the file counts more tests or failures than `report` has.
os::Result<void> check_gtest_totals(std::int64_t tests, std::int64_t failures,
                                    const TestReport& report);

}  // namespace tasks::reports
