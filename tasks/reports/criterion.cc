#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// One estimate: {"confidence_interval": …, "point_estimate": 12.5, …} of estimates.json, or
// {"estimate": 12.5, "unit": "ns", …} of a message.
struct Estimate {
  std::optional<double> value;
  std::string unit = "ns";
};

Estimate read_estimate(JsonScanner& scanner) {
  Estimate estimate;
  std::string key;
  if (scanner.take_null() || !scanner.enter('{')) return estimate;
  while (scanner.next_key(key)) {
    if (key == "point_estimate" || key == "estimate")
      estimate.value = scanner.number();
    else if (key == "unit")
      estimate.unit = scanner.string();
    else
      scanner.skip();
  }
  return estimate;
}

// Criterion's `typical` is the slope where samples were linear, else the mean.
struct Estimates {
  std::optional<Estimate> slope;
  std::optional<Estimate> typical;
  std::optional<Estimate> mean;
  std::string reason;  // of a message
  std::string id;      // of a message

  const Estimate* best() const {
    for (const auto* each : {&typical, &slope, &mean})
      if (each->has_value() && (*each)->value) return &each->value();
    return nullptr;
  }
  bool has_any() const { return slope || typical || mean; }
};

Estimates read_estimates(JsonScanner& scanner) {
  Estimates estimates;
  std::string key;
  if (!scanner.enter('{')) return estimates;
  while (scanner.next_key(key)) {
    if (key == "slope")
      estimates.slope = read_estimate(scanner);
    else if (key == "typical")
      estimates.typical = read_estimate(scanner);
    else if (key == "mean")
      estimates.mean = read_estimate(scanner);
    else if (key == "reason")
      estimates.reason = scanner.string();
    else if (key == "id")
      estimates.id = clean_text(scanner.string(), kMaxId + 16);
    else
      scanner.skip();
  }
  return estimates;
}

BenchRow row_of(const Estimates& estimates, std::string name) {
  BenchRow row;
  row.name = std::move(name);
  row.clock = BenchClock::real;
  row.iterations = 1;
  const Estimate* const best = estimates.best();
  if (best == nullptr) {
    row.error = "its estimate is no finite number";
    return row;
  }
  const double factor = picoseconds_of(best->unit);
  const double picoseconds = std::round(*best->value * factor);
  // As for Google Benchmark: whole numbers below 2^53 are exact.
  constexpr double kMost = 9007199254740992.0;
  if (factor == 0)
    row.error = fmt::format("unknown unit '{}'", clean_text(best->unit, 40));
  else if (!(picoseconds >= 1))
    row.error = "its time is zero or negative";
  else if (picoseconds > kMost)
    row.error = "its time is over 2.5 hours an iteration";
  else
    row.picoseconds = static_cast<std::int64_t>(picoseconds);
  return row;
}

// Messages of cargo-criterion, one JSON object a line.
os::Result<BenchReport> read_messages(std::string_view bytes) {
  BenchReport report;
  std::set<std::string> seen;
  std::size_t line = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    ++line;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    JsonScanner scanner(text);
    const Estimates estimates = read_estimates(scanner);
    scanner.finish();
    if (scanner.failed())
      return os::fail(
          os::Code::invalid,
          fmt::format("line {}: {}", line, scanner.error().substr(scanner.error().find(": ") + 2)));
    if (estimates.reason != "benchmark-complete") continue;
    if (estimates.id.empty() || estimates.id.size() > kMaxId)
      return os::fail(os::Code::invalid, fmt::format("line {}: no id, or an overlong one", line));
    if (!seen.insert(estimates.id).second)
      return os::fail(os::Code::invalid, fmt::format("'{}' stands twice", estimates.id));
    if (report.rows.size() == kMaxCases) return os::fail(os::Code::invalid, "over 100,000 rows");
    report.rows.push_back(row_of(estimates, estimates.id));
  }
  return report;
}

}  // namespace

os::Result<BenchReport> read_criterion(std::string_view bytes, std::string_view name) {
  JsonScanner scanner(bytes);
  const Estimates estimates = read_estimates(scanner);
  if (!scanner.failed() && !estimates.reason.empty()) return read_messages(bytes);
  scanner.finish();
  if (scanner.failed()) return os::fail(os::Code::invalid, scanner.error());
  if (!estimates.has_any())
    return os::fail(os::Code::invalid, "no 'mean' and no 'slope': not criterion's estimates");
  return BenchReport{{row_of(estimates, std::string(name))}};
}

std::string criterion_name(std::string_view path) {
  constexpr std::string_view kFolder = "criterion/";
  constexpr std::string_view kFile = "/new/estimates.json";
  if (const std::size_t at = path.rfind(kFolder); at != path.npos)
    path.remove_prefix(at + kFolder.size());
  if (path.ends_with(kFile)) path.remove_suffix(kFile.size());
  const std::string name = clean_text(path, kMaxId);
  return name.empty() ? "criterion" : name;
}

}  // namespace tasks::reports
