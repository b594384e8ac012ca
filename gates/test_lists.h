// Lists of tests: what a report says against the list of tests that the base has. DESIGN.md §7,
// invariant 5: every test that the base runs must be there and pass.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gates/verdict.h"
#include "tasks/change.h"
#include "tasks/evidence.h"
#include "tasks/reports/report.h"

namespace gates {

// One report of the judged side beside the same report of the base. All borrowed for the call.
struct TestLists {
  const tasks::TestReport* base = nullptr;  // nullptr: a judge's report, its own plan is its list
  const tasks::TestReport* subject = nullptr;
  const tasks::Claims* claims = nullptr;
  tasks::Side of = tasks::Side::change;  // change or mixed
  std::string run;                       // id of the subject's run, for the reasons
};

struct TestFindings {
  std::vector<Reason> failures;       // what the change has to answer for
  std::vector<Reason> base_failures;  // fails on both sides, marked "also fails on base"
  std::vector<Reason> notes;          // no failures, but to be said
  std::set<std::string> suspects;     // tests of those failures that failed when they ran: a rerun
                                      // may tell that they are flaky
  std::int64_t passed = 0;
  std::int64_t fresh = 0;    // of those: tests that the base does not have
  std::int64_t fixed = 0;    // of those: tests that fail on the base
  std::int64_t bad = 0;      // failed or error, whether it counts or not
  std::int64_t skipped = 0;  // and that is allowed
};

// The change's own tree: a test that the base runs and that is gone, skipped or failing is a
// failure; `removes` allows it to be gone or skipped, and must be true; `fixes` must fail on the
// base (or not run there) and pass. A new test must pass, or be skipped.
// The mixed tree: tests of `removes` may do anything; a claimed fix that fails on the base may
// still fail (what mends it may be a guarded file, which the mixed tree does not have).
// A judge's report: every case passes.
TestFindings compare_tests(const TestLists& lists);

}  // namespace gates
