// TargetJudge: what one run of a tests gate says of the change, or of the mixed tree.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gates/runs.h"
#include "gates/test_lists.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

// A report that a tests gate reads.
bool is_of_tests(const tasks::ReportSpec& spec);

// Why a report of a run cannot be used; empty if it can.
std::string report_problem(const tasks::RunRecord& record, const tasks::ReportSpec& spec);

// What was found on one side, with the class of each failure.
struct SideFindings {
  struct Failure {
    FailureClass failure = FailureClass::test;
    Reason reason;
    std::optional<tasks::RunKey> rerun;  // the run to repeat, if the test may be flaky
  };
  std::vector<Failure> failures;
  std::vector<Failure> base_failures;  // instead of those of `tests`
  TestFindings tests;  // summed over all runs; its own `failures` are moved into ours
  bool has_failed() const { return !failures.empty() || !base_failures.empty(); }
};

// Moves all of `from` to the end of `to`.
inline void append(std::vector<Reason>& to, std::vector<Reason>&& from) {
  std::ranges::move(from, std::back_inserter(to));
}

// Judges the run of `key` of the change or of the mixed tree, and adds what it finds to `findings`.
void judge_target(const Context& context, const tasks::RunKey& key, SideFindings& findings);

}  // namespace gates
