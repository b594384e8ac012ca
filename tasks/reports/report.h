// What a result file says, in one form for all formats. Made by `reader` in a strict jail from
// hostile bytes; everything above sees only this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "sandbox/os/units.h"
#include "tasks/policy.h"

namespace tasks {

// What `reader` may use at most. Every lease is at least this large, so that a report can be read
// whatever the policy's own limits are.
inline constexpr os::Bytes kReaderMemory{256ULL << 20U};

enum class CaseStatus : std::uint8_t {
  passed,
  failed,
  error,  // it could not run as it should: its set-up failed, its program is missing
  skipped,
  disabled,
  notrun,
  flaky,  // failed, and passed when its own runner tried it again
  xfail,  // failed, as it says it does
  xpass   // passed although it says that it fails
};
std::string_view case_status_name(CaseStatus status);

struct TestCase {
  std::string id;  // "Suite.Name", unique in the report (a duplicate makes the report unreadable)
  CaseStatus status = CaseStatus::notrun;
  std::int64_t milliseconds = 0;
  std::string message;  // of a failure; at most 4 KiB
  std::string file;
  std::int64_t line = 0;
  bool operator==(const TestCase&) const = default;
};

// Recounted from the cases; a summary that the file itself gives is never trusted.
struct TestReport {
  std::vector<TestCase> cases;  // sorted by id; at most 100,000
  bool operator==(const TestReport&) const = default;
};

enum class BenchClock : std::uint8_t { cpu, real, manual };

struct BenchRow {
  std::string name;  // run_name (+ "/threads:n" where the file has it apart)
  BenchClock clock = BenchClock::cpu;
  std::int64_t picoseconds = 0;  // per iteration, on `clock`
  std::int64_t iterations = 0;
  std::int64_t repetition = 0;
  std::string error;  // error_occurred, skipped, NaN, zero or negative time …
  bool operator==(const BenchRow&) const = default;
};

// Only rows of run_type "iteration"; aggregates are left out.
struct BenchReport {
  std::vector<BenchRow> rows;  // in the file's order; at most 100,000
  bool operator==(const BenchReport&) const = default;
};

// A figure that a step gives: a score, a size.
struct Metric {
  std::string name;   // keys of objects within objects, joined by dots
  std::string value;  // the shortest decimal number that reads back the same
  std::string error;  // not empty: no finite number, and `value` is empty
  bool operator==(const Metric&) const = default;
};

// What an array of an array file holds.
struct ArraySummary {
  std::string name;   // of the tensor; empty in .npy
  std::string type;   // "float32" …
  std::string shape;  // "[3, 4]"
  std::int64_t elements = 0;
  std::int64_t nan = 0;
  std::int64_t infinite = 0;
  std::string least;  // of the finite elements, empty if there is none
  std::string most;
  std::string sha256;  // of the elements as they lie in the file, least significant byte first
  bool operator==(const ArraySummary&) const = default;
};

// What `reader` answers: one of the four, by the format's kind, or why the file cannot be read.
struct ParsedReport {
  ReportFormat format = ReportFormat::gtest_json;
  TestReport tests;
  BenchReport bench;
  std::vector<Metric> metrics;       // sorted by name; at most 10,000
  std::vector<ArraySummary> arrays;  // in the file's order; at most 10,000
  std::string error;                 // not empty: unreadable, with the place
  bool operator==(const ParsedReport&) const = default;
};

// Reads one file's bytes (at most 64 MiB). Never fails: an unreadable file is a value. `path` is
// the policy's: criterion's files do not say which benchmark they are of.
ParsedReport read_report(ReportFormat format, std::string_view bytes, std::string_view path = {});

// Canonical JSON {schema:1, format, cases:[…] | rows:[…] | metrics:[…] | arrays:[…], error}; at
// most 16 MiB.
std::string report_to_json(const ParsedReport& report);
os::Result<ParsedReport> report_from_json(std::string_view json);

}  // namespace tasks
