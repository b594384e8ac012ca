#include "tasks/reports/report.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "tasks/reports/readers.h"
#include "tasks/reports/report_json.h"
#include "tasks/reports/text.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxReportBytes = 64U << 20U;
// Of the canonical JSON: what a case or a row takes without texts and numbers (its keys and its
// longest words), and room below the 16 MiB allowed.
constexpr std::size_t kBytesPerEntry = 80;
constexpr std::size_t kMaxJson = 15U << 20U;

// Bytes of `text` in JSON.
std::size_t json_size(std::string_view text) {
  const auto escaped = std::ranges::count_if(
      text, [](char c) { return c == '"' || c == '\\' || c == '\n' || c == '\t'; });
  return text.size() + static_cast<std::size_t>(escaped);
}

std::size_t json_size(std::int64_t number) { return std::to_string(number).size(); }

std::string too_large() { return "the names alone are over 15 MiB"; }

// Sorts the cases, refuses ids that are empty, long or not unique, and cuts messages to what the
// canonical form has room for.
os::Result<void> finish(TestReport& report) {
  std::size_t fixed = 0;
  for (const TestCase& test : report.cases) {
    if (test.id.empty()) return os::fail(os::Code::invalid, "a test case without a name");
    if (test.id.size() > reports::kMaxId)
      return os::fail(os::Code::invalid, "a test case's name is over 1024 bytes");
    fixed += kBytesPerEntry + json_size(test.id) + json_size(test.file) +
             json_size(test.milliseconds) + json_size(test.line);
  }
  std::ranges::sort(report.cases, {}, &TestCase::id);
  const auto same = std::ranges::adjacent_find(report.cases, {}, &TestCase::id);
  if (same != report.cases.end())
    return os::fail(os::Code::invalid, fmt::format("two test cases are called '{}'", same->id));
  if (fixed > kMaxJson) return os::fail(os::Code::invalid, too_large());
  std::size_t room = kMaxJson - fixed;
  for (TestCase& test : report.cases) {
    const std::size_t size = json_size(test.message);
    if (size > room)
      test.message.clear();
    else
      room -= size;
  }
  return {};
}

os::Result<void> finish(const BenchReport& report) {
  std::size_t size = 0;
  for (const BenchRow& row : report.rows)
    size += kBytesPerEntry + json_size(row.name) + json_size(row.error) +
            json_size(row.picoseconds) + json_size(row.iterations) + json_size(row.repetition);
  if (size > kMaxJson) return os::fail(os::Code::invalid, too_large());
  return {};
}

os::Result<void> finish(const std::vector<Metric>& metrics) {
  std::size_t size = 0;
  for (const Metric& metric : metrics)
    size += kBytesPerEntry + json_size(metric.name) + json_size(metric.value);
  if (size > kMaxJson) return os::fail(os::Code::invalid, too_large());
  return {};
}

os::Result<void> finish(const std::vector<ArraySummary>& arrays) {
  std::size_t size = 0;
  for (const ArraySummary& array : arrays)
    size += 5 * kBytesPerEntry + json_size(array.name) + array.shape.size() + array.least.size() +
            array.most.size();
  if (size > kMaxJson) return os::fail(os::Code::invalid, too_large());
  return {};
}

template <class Report>
os::Result<void> take(os::Result<Report> read, Report& out) {
  if (!read) return std::unexpected(std::move(read).error());
  TRY(finish(*read));
  out = std::move(*read);
  return {};
}

os::Result<void> read_into(ParsedReport& report, std::string_view bytes, std::string_view path) {
  switch (report.format) {
    case ReportFormat::gtest_json:
      return take(reports::read_gtest_json(bytes), report.tests);
    case ReportFormat::ctest_junit:
      return take(reports::read_ctest_junit(bytes), report.tests);
    case ReportFormat::tap:
      return take(reports::read_tap(bytes), report.tests);
    case ReportFormat::google_benchmark:
      return take(reports::read_google_benchmark(bytes), report.bench);
    case ReportFormat::gtest_xml:
      return take(reports::read_gtest_xml(bytes), report.tests);
    case ReportFormat::pytest_junit:
      return take(reports::read_pytest_junit(bytes), report.tests);
    case ReportFormat::catch2_junit:
      return take(reports::read_catch2_junit(bytes), report.tests);
    case ReportFormat::nextest_junit:
      return take(reports::read_nextest_junit(bytes), report.tests);
    case ReportFormat::go_test:
      return take(reports::read_go_test(bytes), report.tests);
    case ReportFormat::criterion:
      return take(reports::read_criterion(bytes, reports::criterion_name(path)), report.bench);
    case ReportFormat::metrics:
      return take(reports::read_metrics(bytes), report.metrics);
    case ReportFormat::npy:
      return take(reports::read_npy(bytes), report.arrays);
    case ReportFormat::safetensors:
      return take(reports::read_safetensors(bytes), report.arrays);
  }
  return os::fail(os::Code::internal, "unknown format");
}

}  // namespace

std::string_view case_status_name(CaseStatus status) {
  return archive::Words<CaseStatus>::kAll.at(static_cast<std::size_t>(status));
}

ParsedReport read_report(ReportFormat format, std::string_view bytes, std::string_view path) {
  ParsedReport report;
  report.format = format;
  if (bytes.size() > kMaxReportBytes) {
    report.error = "the file is over 64 MiB";
    return report;
  }
  if (const os::Result<void> read = read_into(report, bytes, path); !read)
    report.error = reports::clean_text(read.error().message, reports::kMaxMessage);
  return report;
}

namespace reports {

std::int64_t milliseconds_of(std::string_view seconds) {
  double value = 0;
  const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  // A century is over any deadline of ours.
  if (error != std::errc{} || !(value > 0) || value > 3.2e9) return 0;
  return static_cast<std::int64_t>(std::llround(value * 1000));
}

double picoseconds_of(std::string_view unit) {
  if (unit == "ps") return 1;
  if (unit == "ns") return 1e3;
  if (unit == "us" || unit == "µs") return 1e6;
  if (unit == "ms") return 1e9;
  if (unit == "s") return 1e12;
  return 0;
}

}  // namespace reports
}  // namespace tasks
