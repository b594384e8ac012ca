// The ledger of benchmark tests: who tried what before, so that trying again buys no new chance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/store/sqlite.h"

namespace runner::store {

// How long a test that did not pass counts against its retries.
inline constexpr int kLedgerDays = 30;

// One benchmark gate of one task, as it was judged last.
struct BenchmarkTestRow {
  std::string project, gate;
  std::string scope;   // "author/<root of the owner chain>"
  std::string family;  // of its task; empty: none (not stored here)
  std::string task;
  std::vector<std::string> paths;  // that the change touches, old and new
  bool passed = false;
  std::string at;  // RFC 3339 UTC
};

// An earlier row of the same task and gate is replaced.
os::Result<void> put_benchmark_test(Database& database, const BenchmarkTestRow& row);

os::Result<void> drop_benchmark_test(Database& database, const std::string& task,
                                     const std::string& gate);

// How many tests `next` is a retry of: of other tasks of its project and gate and of its author or
// its family, since `since`, that did not pass and touched one of its paths. A family is a name
// that the author chooses, so it can add tests and take none away.
os::Result<std::int64_t> count_earlier_tests(Database& database, const BenchmarkTestRow& next,
                                             const std::string& since);

// Tests of that gate in all, whoever asked.
os::Result<std::int64_t> count_benchmark_tests(Database& database, const std::string& project,
                                               const std::string& gate);

}  // namespace runner::store
