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

enum class CaseStatus : std::uint8_t { passed, failed, error, skipped, disabled, notrun };
std::string_view case_status_name(CaseStatus status);
os::Result<CaseStatus> parse_case_status(std::string_view name);

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

// What `reader` answers: one of the two, by the format, or why the file cannot be read.
struct ParsedReport {
  ReportFormat format = ReportFormat::gtest_json;
  TestReport tests;
  BenchReport bench;
  std::string error;  // not empty: unreadable, with the place
  bool operator==(const ParsedReport&) const = default;
};

// Reads one file's bytes (at most 64 MiB). Never fails: an unreadable file is a value.
ParsedReport read_report(ReportFormat format, std::string_view bytes);

// Canonical JSON {schema:1, format, cases:[…] | rows:[…], error}; at most 16 MiB.
std::string report_to_json(const ParsedReport& report);
os::Result<ParsedReport> report_from_json(std::string_view json);

}  // namespace tasks
