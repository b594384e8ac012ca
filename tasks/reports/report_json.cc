#include "tasks/reports/report_json.h"

#include <algorithm>

namespace tasks {
namespace archive {

template <>
struct Fields<TestCase> {
  static void visit(auto& archive, auto& test) {
    archive("id", test.id);
    archive("status", test.status);
    archive("ms", test.milliseconds);
    archive("message", test.message);
    archive("file", test.file);
    archive("line", test.line);
  }
};

template <>
struct Fields<BenchRow> {
  static void visit(auto& archive, auto& row) {
    archive("name", row.name);
    archive("clock", row.clock);
    archive("ps", row.picoseconds);
    archive("iterations", row.iterations);
    archive("repetition", row.repetition);
    archive("error", row.error);
  }
};

template <>
struct Fields<Metric> {
  static void visit(auto& archive, auto& metric) {
    archive("name", metric.name);
    archive("value", metric.value);
    archive("error", metric.error);
  }
};

template <>
struct Fields<ArraySummary> {
  static void visit(auto& archive, auto& array) {
    archive("name", array.name);
    archive("type", array.type);
    archive("shape", array.shape);
    archive("elements", array.elements);
    archive("nan", array.nan);
    archive("infinite", array.infinite);
    archive("least", array.least);
    archive("most", array.most);
    archive("sha256", array.sha256);
  }
};

template <>
struct Fields<ParsedReport> {
  static void visit(auto& archive, auto& report) {
    archive.schema(1);
    archive("format", report.format);
    archive("error", report.error);
    // The format stands before what depends on it.
    switch (report_kind(report.format)) {
      case ReportKind::tests:
        archive("cases", report.tests.cases);
        break;
      case ReportKind::benchmark:
        archive("rows", report.bench.rows);
        break;
      case ReportKind::metrics:
        archive("metrics", report.metrics);
        break;
      case ReportKind::arrays:
        archive("arrays", report.arrays);
        break;
    }
  }
};

}  // namespace archive

std::string report_to_json(const ParsedReport& report) { return archive::write_record(report); }

os::Result<ParsedReport> report_from_json(std::string_view json) {
  constexpr std::size_t kMaxBytes = 16U << 20U;
  if (json.size() > kMaxBytes) return os::fail(os::Code::invalid, "report: over 16 MiB");
  ParsedReport report = TRY(archive::read_record<ParsedReport>(json, "report"));
  // As a reader leaves them: gates look cases up by id.
  const auto unordered = std::ranges::adjacent_find(
      report.tests.cases, [](const TestCase& a, const TestCase& b) { return a.id >= b.id; });
  if (unordered != report.tests.cases.end())
    return os::fail(os::Code::invalid, "report: cases are not sorted or stand twice");
  const bool is_empty = report.tests.cases.empty() && report.bench.rows.empty() &&
                        report.metrics.empty() && report.arrays.empty();
  if (!report.error.empty() && !is_empty)
    return os::fail(os::Code::invalid, "report: an unreadable file with cases");
  return report;
}

}  // namespace tasks
