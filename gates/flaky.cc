#include "gates/flaky.h"

#include <fmt/format.h>

#include "gates/text.h"
#include "tasks/reports/report.h"

namespace gates {

namespace {

using tasks::RunKey;
using tasks::RunRecord;

// In how many reports of the run the test is, and in how many of those it passed.
struct Sightings {
  int all = 0;
  int passed = 0;
};
Sightings find_test_case(const RunRecord& record, const std::string& id) {
  Sightings found;
  for (const tasks::ReportRecord& report : record.reports) {
    for (const tasks::TestCase& test : report.parsed.tests.cases) {
      if (test.id != id) continue;
      ++found.all;
      found.passed += test.status == tasks::CaseStatus::passed ? 1 : 0;
    }
  }
  return found;
}

}  // namespace

PassRate pass_rate(const Context& context, const RunKey& first, const std::string& id) {
  PassRate rate;
  for (RunKey key = first;; key.rerun = key.rerun.value_or(0) + 1) {
    const RunRecord* const record = context.evidence.find(key);
    if (record == nullptr) return rate;
    const Sightings test = find_test_case(*record, id);
    if (!key.rerun && test.all == 0) return rate;
    ++rate.runs;
    // Two reports that disagree about a test are no pass.
    if (test.all > 0 && test.passed == test.all) ++rate.passed;
  }
}

std::string rate_text(const PassRate& rate) {
  return fmt::format("{} of {}", rate.passed, counted(rate.runs, "run"));
}

std::optional<RunKey> missing_rerun(const Context& context, const RunKey& first, int budget) {
  RunKey key = first;
  for (int rerun = 1; rerun <= budget; ++rerun) {
    key.rerun = rerun;
    if (context.evidence.find(key) == nullptr) return key;
  }
  return std::nullopt;
}

}  // namespace gates
