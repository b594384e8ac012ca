// Every file of tests/tasks/corpus is read as its .expected beside it says. The folder is the key
// of the policy's `report`. Most files were written by the tools themselves (GoogleTest 1.12, CTest
// 3.25, pytest 7.2, Catch2 2.13, go 1.19, Perl's Test::More, node 20, bats 1.8, Google Benchmark
// 1.7, NumPy 1.24); the rest are broken or forged by hand.
//
// PROOFHOUSE_CORPUS_WRITE=1 writes readings that are missing; they are then checked by eye.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tasks/reports/report.h"
#include "tests/support/programs.h"

namespace tasks {
namespace {

namespace fs = std::filesystem;

fs::path corpus() { return tests::source_dir() / "tests/tasks/corpus"; }

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The first line of a text, so that one reading is one line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// One line for each case, row, metric or array.
std::string describe(const ParsedReport& report) {
  std::ostringstream out;
  if (!report.error.empty()) out << "unreadable: " << report.error << "\n";
  for (const TestCase& test : report.tests.cases) {
    out << case_status_name(test.status) << " " << test.id;
    if (!test.file.empty()) out << " @" << test.file << ":" << test.line;
    if (!test.message.empty()) out << " | " << first_line(test.message).substr(0, 80);
    out << "\n";
  }
  for (const BenchRow& row : report.bench.rows) {
    out << row.name << " #" << row.repetition << " clock " << static_cast<int>(row.clock) << ": ";
    if (row.error.empty())
      out << row.picoseconds << " ps x " << row.iterations << "\n";
    else
      out << row.error << "\n";
  }
  for (const Metric& metric : report.metrics)
    out << metric.name << " " << (metric.error.empty() ? "= " + metric.value : metric.error)
        << "\n";
  for (const ArraySummary& array : report.arrays)
    out << "'" << array.name << "' " << array.type << array.shape << " nan " << array.nan
        << " infinite " << array.infinite << " [" << array.least << ".." << array.most << "] "
        << array.sha256.substr(0, 12) << "\n";
  return out.str();
}

std::vector<std::string> samples() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(corpus()))
    if (entry.is_regular_file() && entry.path().extension() != ".expected")
      names.push_back(fs::relative(entry.path(), corpus()).string());
  std::ranges::sort(names);
  return names;
}

class Corpus : public testing::TestWithParam<std::string> {};

TEST_P(Corpus, IsReadAsExpected) {
  const fs::path file = corpus() / GetParam();
  const os::Result<ReportFormat> format =
      parse_report_format(fs::path(GetParam()).parent_path().string());
  ASSERT_TRUE(format.has_value()) << "no such format: " << GetParam();
  const ParsedReport report = read_report(*format, bytes_of(file), GetParam());
  const std::string reading = describe(report);
  const fs::path expected = file.string() + ".expected";
  if (!fs::exists(expected) && std::getenv("PROOFHOUSE_CORPUS_WRITE") != nullptr)
    std::ofstream(expected, std::ios::binary) << reading;
  EXPECT_EQ(reading, bytes_of(expected));
  // The form in which the answer leaves the reader's jail.
  const os::Result<ParsedReport> again = report_from_json(report_to_json(report));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, report);
}

INSTANTIATE_TEST_SUITE_P(Files, Corpus, testing::ValuesIn(samples()), [](const auto& sample) {
  std::string name = sample.param;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

TEST(CorpusFolder, HasEnoughFilesOfEveryFormat) {
  EXPECT_GE(samples().size(), 80U);
  for (const auto& folder : fs::directory_iterator(corpus()))
    EXPECT_TRUE(parse_report_format(folder.path().filename().string()).has_value())
        << folder.path();
}

}  // namespace
}  // namespace tasks
