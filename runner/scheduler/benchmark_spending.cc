#include "runner/scheduler/benchmark_spending.h"

#include <chrono>

#include "runner/clock.h"
#include "runner/store/benchmark_ledger.h"
#include "runner/store/people.h"

namespace runner {
namespace {

os::Result<store::BenchmarkTestRow> row_of(store::Database& database, const store::TaskRow& task,
                                           const std::string& gate) {
  store::BenchmarkTestRow row;
  row.project = task.project;
  row.gate = gate;
  row.scope = "author/" + TRY(store::chain_root(database, task.principal));
  row.family = task.family;
  row.task = task.id;
  row.paths = task.change.diff.paths();
  row.at = now_text();
  return row;
}

}  // namespace

os::Result<void> plan_spending(store::Database& database, const store::TaskRow& task,
                               const tasks::Policy& policy, tasks::Plan& plan) {
  const std::string since = time_text_after(-std::chrono::days(store::kLedgerDays));
  for (const tasks::Gate& gate : policy.gates) {
    if (gate.kind != tasks::GateKind::benchmark) continue;
    const store::BenchmarkTestRow row = TRY(row_of(database, task, gate.name.str()));
    const std::int64_t earlier = TRY(store::count_earlier_tests(database, row, since));
    if (earlier > 0) plan.earlier_tests[gate.name.str()] = earlier;
    const std::int64_t all =
        TRY(store::count_benchmark_tests(database, task.project, gate.name.str()));
    plan.calibrates = plan.calibrates || all % kCalibrationEvery == 0;
    // Spent from now on, so that retries sent all at once count each other.
    TRY(store::put_benchmark_test(database, row));
  }
  return {};
}

os::Result<void> record_spending(store::Database& database, const store::TaskRow& task,
                                 const gates::Judgement& judgement) {
  for (const gates::GateResult& gate : judgement.gates) {
    if (gate.kind != tasks::GateKind::benchmark) continue;
    const bool passed = gate.status == gates::GateStatus::passed;
    if (!passed && gate.failure != gates::FailureClass::benchmark) {
      TRY(store::drop_benchmark_test(database, task.id, gate.name.str()));
      continue;
    }
    store::BenchmarkTestRow row = TRY(row_of(database, task, gate.name.str()));
    row.passed = passed;
    TRY(store::put_benchmark_test(database, row));
  }
  return {};
}

}  // namespace runner
