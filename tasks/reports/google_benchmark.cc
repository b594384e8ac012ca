#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// One object of "benchmarks", as it stands in the file.
struct RawRow {
  std::string name;
  std::string run_name;
  std::string run_type;
  std::string unit;
  std::string message;
  std::optional<double> real_time;
  std::optional<double> cpu_time;
  std::optional<std::int64_t> iterations;
  std::optional<std::int64_t> repetition;
  std::int64_t threads = 1;
  bool has_error = false;
  bool is_skipped = false;
  bool has_odd_number = false;
};

void read_field(JsonScanner& scanner, const std::string& key, RawRow& row) {
  if (key == "name")
    row.name = scanner.string();
  else if (key == "run_name")
    row.run_name = scanner.string();
  else if (key == "run_type")
    row.run_type = scanner.string();
  else if (key == "time_unit")
    row.unit = scanner.string();
  else if (key == "real_time")
    row.real_time = scanner.number();
  else if (key == "cpu_time")
    row.cpu_time = scanner.number();
  else if (key == "iterations")
    row.iterations = scanner.integer();
  else if (key == "repetition_index")
    row.repetition = scanner.integer();
  else if (key == "threads")
    row.threads = scanner.integer().value_or(1);
  else if (key == "error_occurred")
    row.has_error = scanner.boolean();
  else if (key == "skipped")
    row.is_skipped = scanner.boolean();
  else if (key == "error_message" || key == "skip_message")
    row.message = scanner.string();
  else
    scanner.skip();
}

RawRow read_row(JsonScanner& scanner) {
  RawRow row;
  std::string key;
  const std::int64_t odd_before = scanner.odd_numbers();
  if (!scanner.enter('{')) return row;
  while (scanner.next_key(key)) read_field(scanner, key, row);
  row.has_odd_number = scanner.odd_numbers() != odd_before;
  return row;
}

// True if `name` has the part "/<part>" (benchmark_name.cc joins the parts with '/').
bool has_part(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find('/'); at != std::string_view::npos; at = name.find('/', at + 1)) {
    const std::string_view rest = name.substr(at + 1);
    if (rest.substr(0, rest.find('/')) == part) return true;
  }
  return false;
}

std::string full_name(const RawRow& raw) {
  std::string name = clean_text(raw.run_name.empty() ? raw.name : raw.run_name, kMaxId + 16);
  if (raw.threads > 1 && !name.contains("/threads:"))
    name += fmt::format("/threads:{}", raw.threads);
  return name;
}

BenchClock clock_of(const std::string& name) {
  if (has_part(name, "manual_time")) return BenchClock::manual;
  if (has_part(name, "real_time")) return BenchClock::real;
  return BenchClock::cpu;
}

// Why the row cannot be used; empty: it can, and its figures are set.
std::string measure(const RawRow& raw, BenchRow& row) {
  const std::string why = clean_text(raw.message, 256);
  if (raw.has_error) return "error: " + (why.empty() ? "without a message" : why);
  if (raw.is_skipped) return "skipped: " + (why.empty() ? "without a message" : why);
  if (raw.run_type != "iteration") return "run_type is not 'iteration' or 'aggregate'";
  if (raw.has_odd_number) return "holds a number that is NaN or infinite";
  const std::optional<double> time = row.clock == BenchClock::cpu ? raw.cpu_time : raw.real_time;
  if (!time) return "has no time";
  const double factor = picoseconds_of(raw.unit);
  if (factor == 0) return fmt::format("unknown time_unit '{}'", clean_text(raw.unit, 40));
  const double picoseconds = std::round(*time * factor);
  // Below 2^53 every whole number of picoseconds is exact: 2.5 hours an iteration.
  constexpr double kMost = 9007199254740992.0;
  if (!(picoseconds >= 1)) return "its time is zero or negative";
  if (picoseconds > kMost) return "its time is over 2.5 hours an iteration";
  if (raw.iterations.value_or(0) <= 0) return "has no iterations";
  row.picoseconds = static_cast<std::int64_t>(picoseconds);
  row.iterations = *raw.iterations;
  return {};
}

// Gathers rows; notices benchmarks of which only aggregates are there, and rows that stand twice.
class RowCollector {
 public:
  os::Result<void> add(const RawRow& raw) {
    BenchRow row;
    row.name = full_name(raw);
    if (row.name.empty()) return os::fail(os::Code::invalid, "a row without a name");
    if (row.name.size() > kMaxId) return os::fail(os::Code::invalid, "a name is over 1024 bytes");
    if (raw.run_type == "aggregate") {
      aggregated_.insert(row.name);
      return {};
    }
    row.clock = clock_of(row.name);
    row.repetition = raw.repetition.value_or(counts_[row.name]);
    ++counts_[row.name];
    row.error = measure(raw, row);
    if (!seen_.emplace(row.name, row.repetition).second) {
      return os::fail(os::Code::invalid,
                      fmt::format("'{}' has repetition {} twice", row.name, row.repetition));
    }
    report_.rows.push_back(std::move(row));
    return {};
  }

  BenchReport take() {
    for (const std::string& name : aggregated_) {
      if (counts_.contains(name)) continue;
      BenchRow row;
      row.name = name;
      row.clock = clock_of(name);
      row.error = "only aggregates are reported: run it without report_aggregates_only";
      report_.rows.push_back(std::move(row));
    }
    return std::move(report_);
  }

  std::size_t size() const { return report_.rows.size() + aggregated_.size(); }

 private:
  BenchReport report_;
  std::map<std::string, std::int64_t> counts_;
  std::set<std::pair<std::string, std::int64_t>> seen_;
  std::set<std::string> aggregated_;
};

}  // namespace

os::Result<BenchReport> read_google_benchmark(std::string_view bytes) {
  JsonScanner scanner(bytes);
  RowCollector rows;
  bool has_rows = false;
  std::string key;
  if (!scanner.enter('{')) return os::fail(os::Code::invalid, scanner.error());
  while (scanner.next_key(key)) {
    if (key != "benchmarks") {
      scanner.skip();
      continue;
    }
    has_rows = true;
    if (!scanner.enter('[')) break;
    while (scanner.next_item()) {
      const RawRow raw = read_row(scanner);
      if (scanner.failed()) break;
      if (rows.size() == kMaxCases) scanner.fail("over 100,000 rows");
      if (const os::Result<void> added = rows.add(raw); !added) scanner.fail(added.error().message);
    }
  }
  scanner.finish();
  if (scanner.failed()) return os::fail(os::Code::invalid, scanner.error());
  if (!has_rows) return os::fail(os::Code::invalid, "no 'benchmarks': not Google Benchmark's JSON");
  return rows.take();
}

}  // namespace tasks::reports
