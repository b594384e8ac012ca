// One reader for each format of a result file. Each takes hostile bytes and answers cases or rows
// in the file's order, with clean text; invalid with the place if the file cannot be believed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/reports/report.h"

namespace tasks::reports {

inline constexpr std::size_t kMaxCases = 100'000;  // and rows
inline constexpr std::size_t kMaxMetrics = 10'000;
inline constexpr std::size_t kMaxId = 1024;  // bytes of an id, longer ones are refused
inline constexpr std::size_t kMaxMessage = 4U << 10U;
inline constexpr std::size_t kMaxFileName = 1024;

// JSON of GoogleTest 1.12 and newer (--gtest_output=json:FILE).
os::Result<TestReport> read_gtest_json(std::string_view bytes);
// XML of GoogleTest 1.12 and newer (--gtest_output=xml:FILE): the same ids as its JSON.
os::Result<TestReport> read_gtest_xml(std::string_view bytes);
// JUnit XML of CTest 3.21 and newer (ctest --output-junit FILE).
os::Result<TestReport> read_ctest_junit(std::string_view bytes);
// JUnit XML of pytest 6 and newer (--junit-xml FILE), families xunit1 and xunit2. A test that
// stands twice (its teardown failed too) counts by its worst end.
os::Result<TestReport> read_pytest_junit(std::string_view bytes);
// JUnit XML of Catch2 2 and 3 (--reporter junit). Sections are cases of their own.
os::Result<TestReport> read_catch2_junit(std::string_view bytes);
// JUnit XML of cargo-nextest ([profile.X.junit]).
os::Result<TestReport> read_nextest_junit(std::string_view bytes);
// Events of `go test -json`, one a line; "package.Test" is an id. A test that began and never ended
// failed; a package that failed without a failed test, or never ended, is an error of its own name.
os::Result<TestReport> read_go_test(std::string_view bytes);
// TAP 12, 13 and 14 (testanything.org).
os::Result<TestReport> read_tap(std::string_view bytes);
// JSON of Google Benchmark 1.7 and newer (--benchmark_out=FILE --benchmark_out_format=json).
os::Result<BenchReport> read_google_benchmark(std::string_view bytes);

// Estimates of Rust's criterion: target/criterion/…/new/estimates.json, whose one row is called
// `name`, or the messages of `cargo criterion --message-format=json`. One row a benchmark: its
// typical time.
os::Result<BenchReport> read_criterion(std::string_view bytes, std::string_view name);
// "group/function/param" of ".../criterion/group/function/param/new/estimates.json".
std::string criterion_name(std::string_view path);
// A JSON object of numbers and booleans (1 and 0); objects within it are prefixes. Strings and
// lists are passed over; null, NaN and infinities are metrics with an error.
os::Result<std::vector<Metric>> read_metrics(std::string_view bytes);
// NumPy's .npy of plain numbers, and safetensors.
os::Result<std::vector<ArraySummary>> read_npy(std::string_view bytes);
os::Result<std::vector<ArraySummary>> read_safetensors(std::string_view bytes);

// Whole milliseconds of a number of seconds like "0.271" or "1.5e-3s"; 0 if it is none.
std::int64_t milliseconds_of(std::string_view seconds);
// Picoseconds of a unit of time: ps, ns, us, µs, ms, s; 0 for an unknown one.
double picoseconds_of(std::string_view unit);

}  // namespace tasks::reports
