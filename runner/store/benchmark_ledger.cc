#include "runner/store/benchmark_ledger.h"

#include <algorithm>

#include "runner/store/record_json.h"

namespace runner::store {

os::Result<void> put_benchmark_test(Database& database, const BenchmarkTestRow& row) {
  TRY(
      database.run("INSERT INTO benchmark_tests(task, gate, project, scope, paths, passed, at) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT(task, gate) DO UPDATE SET "
                   "scope = ?4, paths = ?5, passed = ?6, at = ?7",
                   {row.task, row.gate, row.project, row.scope, strings_to_json(row.paths),
                    std::int64_t{row.passed ? 1 : 0}, row.at}));
  return {};
}

os::Result<void> drop_benchmark_test(Database& database, const std::string& task,
                                     const std::string& gate) {
  TRY(database.run("DELETE FROM benchmark_tests WHERE task = ? AND gate = ?", {task, gate}));
  return {};
}

os::Result<std::int64_t> count_earlier_tests(Database& database, const BenchmarkTestRow& next,
                                             const std::string& since) {
  Statement rows = TRY(database.query(
      "SELECT paths FROM benchmark_tests WHERE project = ?1 AND gate = ?2 AND passed = 0 "
      "AND task <> ?3 AND at >= ?4 AND (scope = ?5 OR (?6 <> '' AND task IN "
      "(SELECT id FROM tasks WHERE project = ?1 AND family = ?6)))",
      {next.project, next.gate, next.task, since, next.scope, next.family}));
  std::int64_t count = 0;
  while (TRY(rows.step())) {
    const std::vector<std::string> paths = TRY(strings_from_json(rows.text(0)));
    const bool is_shared = std::ranges::any_of(paths, [&](const std::string& path) {
      return std::ranges::find(next.paths, path) != next.paths.end();
    });
    count += is_shared ? 1 : 0;
  }
  return count;
}

os::Result<std::int64_t> count_benchmark_tests(Database& database, const std::string& project,
                                               const std::string& gate) {
  Statement row = TRY(database.query(
      "SELECT COUNT(*) FROM benchmark_tests WHERE project = ? AND gate = ?", {project, gate}));
  if (!TRY(row.step())) return os::fail(os::Code::corrupt, "no count of benchmark tests");
  return row.int64(0);
}

}  // namespace runner::store
