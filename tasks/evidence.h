// Evidence: all that an attempt measured. Immutable once written; gates judge nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/gpu/lease.h"
#include "sandbox/request.h"
#include "tasks/change.h"
#include "tasks/comparison.h"
#include "tasks/ids.h"
#include "tasks/policy.h"
#include "tasks/reports/report.h"

namespace tasks {

// Whose code a run executes. `mixed`: the base's guarded files with the change's subject files.
// `judge`: a `from: base` step.
enum class Side : std::uint8_t { base, change, mixed, judge };
std::string_view side_name(Side side);
os::Result<Side> parse_side(std::string_view name);

// How a run differs from the plain one of the same step: `relinked` belongs to a second build of
// the same tree whose functions lie elsewhere, `calibration` are runs of the base alone, compared
// with each other.
enum class Variant : std::uint8_t { plain, relinked, calibration };
std::string_view variant_name(Variant variant);

// What identifies a run within an attempt. For judge runs `of` is the side whose outputs they judge
// or feed (change or mixed); for all others it equals `side`.
struct RunKey {
  Side side = Side::change;
  Side of = Side::change;
  StepName step;
  std::optional<int> pair;  // number of the pair, from 0, of a benchmark gate's measurement
  Variant variant = Variant::plain;
  // Of a pair measured by an outside clock: 0 with the fewer calls, 1 with the more. The judge's
  // runs of such a pair have a pair and no leg.
  std::optional<int> leg = std::nullopt;
  std::optional<int> rerun = std::nullopt;  // from 1: the same once more, in a fresh jail
  auto operator<=>(const RunKey&) const = default;
};

struct ReportRecord {
  ReportFormat format = ReportFormat::gtest_json;
  std::string path;
  std::string raw_sha256;  // empty: there was no file
  std::string error;       // why it is missing or unreadable; empty: `parsed` holds
  std::string parsed_sha256;
  ParsedReport parsed;  // loaded from the blob parsed_sha256, not stored in result.json
  bool operator==(const ReportRecord&) const = default;
};

struct OutputRecord {
  std::string name;
  std::string error;   // missing, not a regular file, too large; empty: it is there
  std::string sha256;  // of a file, or of the manifest "<sha256> <size> <path>\n"… of a directory
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  bool operator==(const OutputRecord&) const = default;
};

// Which outputs a gate wants compared: that of `left` against one of `right`.
struct ComparisonKey {
  GateName gate;
  std::string output;  // of the left run: "out", or "out/y.npy" for a parity
  RunKey left, right;
  std::string right_output;  // of the right run
  bool operator==(const ComparisonKey&) const = default;
};

struct ComparisonRecord {
  ComparisonKey key;
  Comparison comparison;
  bool operator==(const ComparisonRecord&) const = default;
};

struct LogRecord {
  std::string head_sha256;   // blob, empty if nothing was printed
  std::string tail_sha256;   // blob, empty if nothing was left out
  std::int64_t bytes = 0;    // printed in all
  std::int64_t omitted = 0;  // between head and tail
  bool operator==(const LogRecord&) const = default;
};

// What a run had of GPUs.
struct GpuRecord {
  std::string driver;        // version
  std::int64_t wait_ms = 0;  // until the GPUs were there; no part of the run's time
  std::vector<sandbox::gpu::GpuUse> uses;
  bool operator==(const GpuRecord&) const = default;
};

struct RunRecord {
  RunKey key;
  std::string id;        // plain name of the run in its attempt, "r0001"
  int order = 0;         // within a pair: 0 first, 1 second
  std::string seed;      // $PROOFHOUSE_SEED given to a from_base step, else empty
  bool carried = false;  // from kept evidence of the same base (policy, environment, level)
  sandbox::Outcome outcome;
  std::vector<sandbox::LimitHit> limits_hit;
  sandbox::Usage usage;
  LogRecord log;
  std::vector<ReportRecord> reports;
  std::vector<OutputRecord> outputs;
  std::optional<GpuRecord> gpu;  // of a step that asks for GPUs
  std::string level = "full";
  std::vector<std::string> gaps;
  // Of the machine while a benchmark ran: steal_ms (time that the hypervisor took from its CPUs),
  // load_milli (load average), throttle_events (clock reduced by heat). Only what could be read.
  std::map<std::string, std::int64_t> disturbances;
  bool operator==(const RunRecord&) const = default;
};

enum class AttemptStatus : std::uint8_t { completed, refused, cancelled, infra };

struct InfraFault {
  std::string step;
  std::string code;  // os::code_name
  std::int64_t error_number = 0;
  std::string detail;
  bool retryable = true;
  bool operator==(const InfraFault&) const = default;
};

struct Machine {
  std::string host, kernel, cpu, environment_sha256, proofhouse;
  bool operator==(const Machine&) const = default;
};

// result.json of one attempt.
struct Evidence {
  std::string instance, task, attempt;
  std::int64_t fence = 0;
  std::string started_at, finished_at;  // RFC 3339 UTC
  AttemptStatus status = AttemptStatus::completed;
  std::optional<InfraFault> infra;
  Intent intent = Intent::verify;
  Claims claims;
  std::vector<StepName> steps;  // intent run: what was asked for
  IngestResult change;
  std::string policy_sha256;
  std::vector<RunRecord> runs;  // in the order they ended
  std::vector<ComparisonRecord> comparisons;
  Machine machine;
  // Benchmark gate -> how many earlier tests this one is a retry of (the server's ledger).
  std::map<std::string, std::int64_t> earlier_tests;
  bool calibrates = false;  // the benchmark gates first compare the base with itself

  // The run with that key, or nullptr.
  const RunRecord* find(const RunKey& key) const;
  bool operator==(const Evidence&) const = default;
};

// result.json; canonical. Parsed reports are not inside (see ReportRecord::parsed).
std::string evidence_to_json(const Evidence& evidence);
os::Result<Evidence> evidence_from_json(std::string_view json);

}  // namespace tasks
