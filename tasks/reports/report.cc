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

template <class Report>
void take(os::Result<Report> read, Report& out, std::string& error) {
  if (read) {
    if (const os::Result<void> finished = finish(*read); finished)
      out = std::move(*read);
    else
      error = finished.error().message;
  } else {
    error = read.error().message;
  }
}

}  // namespace

std::string_view case_status_name(CaseStatus status) {
  return archive::Words<CaseStatus>::kAll.at(static_cast<std::size_t>(status));
}

os::Result<CaseStatus> parse_case_status(std::string_view name) {
  return archive::parse_word<CaseStatus>(name, "status");
}

ParsedReport read_report(ReportFormat format, std::string_view bytes) {
  ParsedReport report;
  report.format = format;
  if (bytes.size() > kMaxReportBytes) {
    report.error = "the file is over 64 MiB";
    return report;
  }
  switch (format) {
    case ReportFormat::gtest_json:
      take(reports::read_gtest_json(bytes), report.tests, report.error);
      break;
    case ReportFormat::ctest_junit:
      take(reports::read_ctest_junit(bytes), report.tests, report.error);
      break;
    case ReportFormat::tap:
      take(reports::read_tap(bytes), report.tests, report.error);
      break;
    case ReportFormat::google_benchmark:
      take(reports::read_google_benchmark(bytes), report.bench, report.error);
      break;
  }
  report.error = reports::clean_text(report.error, reports::kMaxMessage);
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

}  // namespace reports
}  // namespace tasks
