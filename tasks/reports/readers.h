// One reader for each format of a result file. Each takes hostile bytes and answers cases or rows
// in the file's order, with clean text; invalid with the place if the file cannot be believed.
#pragma once

#include <cstdint>
#include <string_view>

#include "sandbox/os/result.h"
#include "tasks/reports/report.h"

namespace tasks::reports {

inline constexpr std::size_t kMaxCases = 100'000;  // and rows
inline constexpr std::size_t kMaxId = 1024;        // bytes of an id, longer ones are refused
inline constexpr std::size_t kMaxMessage = 4U << 10U;
inline constexpr std::size_t kMaxFileName = 1024;

// JSON of GoogleTest 1.12 and newer (--gtest_output=json:FILE).
os::Result<TestReport> read_gtest_json(std::string_view bytes);
// JUnit XML of CTest 3.21 and newer (ctest --output-junit FILE).
os::Result<TestReport> read_ctest_junit(std::string_view bytes);
// TAP 12, 13 and 14 (testanything.org).
os::Result<TestReport> read_tap(std::string_view bytes);
// JSON of Google Benchmark 1.7 and newer (--benchmark_out=FILE --benchmark_out_format=json).
os::Result<BenchReport> read_google_benchmark(std::string_view bytes);

// Whole milliseconds of a number of seconds like "0.271" or "1.5e-3s"; 0 if it is none.
std::int64_t milliseconds_of(std::string_view seconds);

}  // namespace tasks::reports
