// The readers of JSON and XML result files, on real files with traps and on made ones.

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tasks/reports/report.h"
#include "tasks/reports/text.h"
#include "tests/support/capability.h"
#include "tests/support/expect.h"
#include "tests/support/programs.h"

namespace tasks {
namespace {

std::string sample(std::string_view name) {
  std::ifstream file(tests::source_dir() / "tests/tasks/corpus" / name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

const TestCase& find(const ParsedReport& report, std::string_view id) {
  static const TestCase missing{"(missing)", CaseStatus::notrun, 0, "", "", 0};
  const auto found = std::ranges::find(report.tests.cases, id, &TestCase::id);
  EXPECT_NE(found, report.tests.cases.end()) << id << " " << report.error;
  return found == report.tests.cases.end() ? missing : *found;
}

CaseStatus status_of(const ParsedReport& report, std::string_view id) {
  return find(report, id).status;
}

std::string error_of(ReportFormat format, std::string_view bytes) {
  const ParsedReport report = read_report(format, bytes);
  EXPECT_TRUE(report.error.empty() || (report.tests.cases.empty() && report.bench.rows.empty()));
  return report.error;
}

// ---- GoogleTest

TEST(GtestJson, TellsTheCasesOfARealFileApart) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, sample("gtest-json/traps.json"));
  ASSERT_EQ(report.error, "");
  EXPECT_EQ(report.tests.cases.size(), 11U);
  EXPECT_EQ(status_of(report, "S.Pass"), CaseStatus::passed);
  EXPECT_EQ(status_of(report, "S.Fail"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "S.Throw"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "S.Skip"), CaseStatus::skipped);
  EXPECT_EQ(status_of(report, "S.DISABLED_D"), CaseStatus::disabled);
  EXPECT_EQ(status_of(report, "I/P.X/0"), CaseStatus::passed);
  EXPECT_EQ(status_of(report, "I/P.X/1"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "T1/0.Y"), CaseStatus::passed);
}

TEST(GtestJson, KeepsEveryFailureOfACaseWithItsPlace) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, sample("gtest-json/traps.json"));
  const TestCase& fail = find(report, "S.Fail");
  EXPECT_SAYS(fail.message, "Expected equality of these values");
  EXPECT_SAYS(fail.message, "second");
  EXPECT_EQ(fail.file, "g.cc");
  EXPECT_EQ(fail.line, 4);
}

TEST(GtestJson, ShowsControlCharactersInsteadOfPassingThemOn) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, sample("gtest-json/traps.json"));
  const std::string& message = find(report, "S.Fail").message;
  EXPECT_SAYS(message, "bad \\x01 \\x1B[31m ]]> ÿ end");
  EXPECT_EQ(message.find('\x1B'), std::string::npos);
}

TEST(GtestJson, CountsACaseWhoseSuiteFailedInItsSetUpAsAnError) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, sample("gtest-json/traps.json"));
  EXPECT_EQ(status_of(report, "FailFix.A"), CaseStatus::error);
  EXPECT_SAYS(find(report, "FailFix.A").message, "SetUpTestSuite");
}

// GoogleTest 1.12 writes the same for a case that ran and for one that SetUpTestSuite skipped.
TEST(GtestJson, CannotTellACaseThatItsSuiteSkippedFromOneThatPassed) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, sample("gtest-json/traps.json"));
  EXPECT_EQ(status_of(report, "SkipFix.A"), CaseStatus::passed);
}

std::string suite(std::string_view fields) {
  return R"({"testsuites":[{"name":"S",)" + std::string(fields) + "}]}";
}

TEST(GtestJson, BlamesASuiteForFailuresThatNoCaseHas) {
  const ParsedReport report = read_report(
      ReportFormat::gtest_json,
      suite(R"("failures":1,"testsuite":[{"name":"A","status":"RUN","result":"COMPLETED"}])"));
  EXPECT_EQ(status_of(report, "S.A"), CaseStatus::error);
}

TEST(GtestJson, BelievesAFailureWhateverTheStatusSays) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, suite(R"("testsuite":[{"name":"A","status":"RUN",
          "result":"SKIPPED","failures":[{"failure":"no","type":""}]}])"));
  EXPECT_EQ(status_of(report, "S.A"), CaseStatus::failed);
}

TEST(GtestJson, TakesOddStatesAsErrors) {
  const ParsedReport report = read_report(
      ReportFormat::gtest_json, suite(R"("testsuite":[{"name":"A","status":"RUN","result":"X"},
          {"name":"B"},{"name":"C","status":"NOTRUN","result":"SUPPRESSED"},
          {"name":"D","status":"NOTRUN","result":"COMPLETED"}])"));
  EXPECT_EQ(status_of(report, "S.A"), CaseStatus::error);
  EXPECT_EQ(status_of(report, "S.B"), CaseStatus::error);
  EXPECT_EQ(status_of(report, "S.C"), CaseStatus::notrun);
  EXPECT_EQ(status_of(report, "S.D"), CaseStatus::error);
}

TEST(GtestJson, ReadsNoCasesFromARunThatMatchedNone) {
  const ParsedReport report =
      read_report(ReportFormat::gtest_json, R"({"tests":0,"failures":0,"testsuites":[]})");
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.tests.cases.empty());
}

TEST(GtestJson, RefusesFilesThatHideCases) {
  const auto error = [](std::string_view text) { return error_of(ReportFormat::gtest_json, text); };
  EXPECT_SAYS(error(R"({"tests":2,"testsuites":[]})"), "counts 2 tests but lists only 0");
  EXPECT_SAYS(error(R"({"failures":1,"testsuites":[]})"), "counts 1 failures but lists only 0");
  EXPECT_SAYS(error(suite(R"("testsuite":[{"name":"A"},{"name":"A"}])")), "two test cases");
  EXPECT_SAYS(error(R"({"testsuites":[{"name":"S"}]})"), "without 'testsuite'");
  EXPECT_SAYS(error("{}"), "not GoogleTest's JSON");
}

TEST(GtestJson, RefusesWhatIsNotJson) {
  const auto error = [](std::string_view text) { return error_of(ReportFormat::gtest_json, text); };
  const std::string whole = sample("gtest-json/traps.json");
  EXPECT_SAYS(error(whole.substr(0, whole.size() / 2)), "line ");
  EXPECT_SAYS(error(""), "the file ends too early");
  EXPECT_SAYS(error("{\"testsuites\":[]} x"), "something follows");
  EXPECT_SAYS(error("{\"testsuites\":[],\n\"testsuites\":[]}"), "line 2: key 'testsuites' stands");
  EXPECT_SAYS(error("{\"a\":" + std::string(70, '[')), "nesting is over 64");
  EXPECT_SAYS(error(R"({"a":01})"), "not a number");
  EXPECT_SAYS(error(R"({"a":"\q"})"), "unknown escape");
  EXPECT_SAYS(error("{\"a\":\"x\ny\"}"), "a line ends within a string");
  EXPECT_SAYS(error(R"({"testsuites":{}})"), "expected '['");
}

TEST(GtestJson, ReplacesBytesThatAreNoUtf8) {
  const ParsedReport report = read_report(
      ReportFormat::gtest_json, suite("\"testsuite\":[{\"name\":\"A\xFF\",\"status\":\"RUN\","
                                      "\"result\":\"COMPLETED\"}]"));
  EXPECT_EQ(status_of(report, "S.A\xEF\xBF\xBD"), CaseStatus::passed);
}

// ---- CTest

TEST(CtestJunit, TellsTheCasesOfARealFileApart) {
  const ParsedReport report =
      read_report(ReportFormat::ctest_junit, sample("ctest-junit/traps.xml"));
  ASSERT_EQ(report.error, "");
  EXPECT_EQ(report.tests.cases.size(), 12U);
  EXPECT_EQ(status_of(report, "pass"), CaseStatus::passed);
  EXPECT_EQ(status_of(report, "wf"), CaseStatus::passed);
  EXPECT_EQ(find(report, "pass").milliseconds, 272);
  EXPECT_EQ(status_of(report, "fail"), CaseStatus::failed);
  EXPECT_EQ(find(report, "fail").message, "bad");
  EXPECT_EQ(status_of(report, "segv"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "tmo"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "fx"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "skiprc"), CaseStatus::skipped);
  EXPECT_EQ(status_of(report, "skipre"), CaseStatus::skipped);
  EXPECT_EQ(status_of(report, "dis"), CaseStatus::disabled);
}

TEST(CtestJunit, TakesWhatCouldNotRunAsAnErrorAndNotAsASkip) {
  const ParsedReport report =
      read_report(ReportFormat::ctest_junit, sample("ctest-junit/traps.xml"));
  EXPECT_EQ(status_of(report, "missing"), CaseStatus::error);
  EXPECT_SAYS(find(report, "missing").message, "Unable to find executable");
  EXPECT_EQ(status_of(report, "needfx"), CaseStatus::error);
  EXPECT_SAYS(find(report, "needfx").message, "Fixture dependency failed");
}

std::string ctest(std::string_view cases, std::string_view attributes = "") {
  return "<testsuite " + std::string(attributes) + ">" + std::string(cases) + "</testsuite>";
}

TEST(CtestJunit, SeesAFailureThatASkipExpressionHid) {
  const ParsedReport report = read_report(
      ReportFormat::ctest_junit,
      ctest(R"(<testcase name="a" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"
          /><system-out>x
[  SKIPPED ] S.A
[  FAILED  ] S.A (0 ms)</system-out></testcase>)"));
  EXPECT_EQ(status_of(report, "a"), CaseStatus::failed);
}

TEST(CtestJunit, BelievesAFailureElementWhateverTheStatusSays) {
  const ParsedReport report =
      read_report(ReportFormat::ctest_junit,
                  ctest(R"(<testcase name="a" status="run"><failure message="no"/></testcase>
               <testcase name="b" status="odd"/><testcase name="c" status="notrun"/>)"));
  EXPECT_EQ(status_of(report, "a"), CaseStatus::failed);
  EXPECT_EQ(status_of(report, "b"), CaseStatus::error);
  EXPECT_EQ(status_of(report, "c"), CaseStatus::error);
}

TEST(CtestJunit, KeepsTheEndOfALongOutput) {
  const ParsedReport report = read_report(
      ReportFormat::ctest_junit,
      ctest("<testcase name=\"a\" status=\"fail\"><system-out>" + std::string(100'000, 'x') +
            "the end</system-out>"
            "</testcase>"));
  const std::string& message = find(report, "a").message;
  EXPECT_LE(message.size(), 4096U);
  EXPECT_TRUE(message.ends_with("the end"));
}

TEST(CtestJunit, RefusesFilesThatCannotBeBelieved) {
  const auto error = [](std::string_view text) {
    return error_of(ReportFormat::ctest_junit, text);
  };
  EXPECT_SAYS(error(ctest("", "tests=\"3\"")), "counts 3 tests but lists only 0");
  EXPECT_SAYS(error(ctest("<testcase name='a' status='run'/><testcase name='a' status='run'/>")),
              "two test cases");
  EXPECT_SAYS(error(ctest("<testcase name='a'/>")), "without a status");
  EXPECT_SAYS(error("<testsuites/>"), "not CTest's JUnit");
  EXPECT_SAYS(error("<testsuite/><testsuite/>"), "more than one root");
  EXPECT_SAYS(error("<!DOCTYPE x [<!ENTITY a 'b'>]><testsuite/>"), "document type");
  EXPECT_SAYS(error("<testsuite><testcase"), "not well-formed");
  EXPECT_SAYS(error(""), "not well-formed");
  std::string deep;
  for (int i = 0; i < 80; ++i) deep += "<a>";
  for (int i = 0; i < 80; ++i) deep += "</a>";
  EXPECT_SAYS(error(ctest(deep)), "nesting is over 64");
  std::string many;
  for (int i = 0; i < 2'000'001; ++i) many += "<a/>";
  EXPECT_SAYS(error(ctest(many)), "over 2,000,000 elements");
}

// The raw 0xFF of this file makes it no XML; it is GoogleTest's, so the root is wrong too.
TEST(CtestJunit, DoesNotTakeGoogleTestsXmlForItsOwn) {
  EXPECT_SAYS(error_of(ReportFormat::ctest_junit, sample("gtest-xml/traps.xml")),
              "not CTest's JUnit");
}

// ---- Google Benchmark

const BenchRow& row(const ParsedReport& report, std::string_view name) {
  static const BenchRow missing;
  const auto found = std::ranges::find(report.bench.rows, name, &BenchRow::name);
  EXPECT_NE(found, report.bench.rows.end()) << name << " " << report.error;
  return found == report.bench.rows.end() ? missing : *found;
}

TEST(GoogleBenchmark, ReadsTheIterationsOfARealFileAndNoAggregates) {
  const ParsedReport report =
      read_report(ReportFormat::google_benchmark, sample("google-benchmark/traps.json"));
  ASSERT_EQ(report.error, "");
  ASSERT_EQ(report.bench.rows.size(), 5U);
  for (int i = 0; i < 3; ++i) {
    const BenchRow& each = report.bench.rows.at(static_cast<std::size_t>(i));
    EXPECT_EQ(each.name, "A/8/repeats:3");
    EXPECT_EQ(each.repetition, i);
    EXPECT_EQ(each.clock, BenchClock::cpu);
    EXPECT_EQ(each.iterations, 3'552'164);
    EXPECT_EQ(each.error, "");
  }
  EXPECT_EQ(report.bench.rows[0].picoseconds, 3862);
}

TEST(GoogleBenchmark, TakesAFailedBenchmarkAndOneWithNaNAsErrors) {
  const ParsedReport report =
      read_report(ReportFormat::google_benchmark, sample("google-benchmark/traps.json"));
  EXPECT_EQ(row(report, "E").error, "error: no gpu");
  EXPECT_SAYS(row(report, "M/iterations:2/manual_time").error, "NaN or infinite");
  EXPECT_EQ(row(report, "M/iterations:2/manual_time").clock, BenchClock::manual);
}

std::string bench(std::string_view fields) {
  return R"({"benchmarks":[{"name":"B","run_type":"iteration","iterations":5,)" +
         std::string(fields) + "}]}";
}

TEST(GoogleBenchmark, TakesTheClockOfTheNameAndConvertsItsUnit) {
  const auto read = [](std::string_view fields) {
    return read_report(ReportFormat::google_benchmark, bench(fields)).bench.rows.at(0);
  };
  EXPECT_EQ(read(R"("cpu_time":2.5,"real_time":9,"time_unit":"us")").picoseconds, 2'500'000);
  EXPECT_EQ(read(R"("cpu_time":2.5,"real_time":9,"time_unit":"ms")").picoseconds, 2'500'000'000);
  EXPECT_EQ(read(R"("cpu_time":2,"real_time":9,"time_unit":"s")").picoseconds, 2'000'000'000'000);
  const BenchRow real =
      read(R"("run_name":"B/real_time","cpu_time":2,"real_time":9,"time_unit":"ns")");
  EXPECT_EQ(real.picoseconds, 9000);
  EXPECT_EQ(real.clock, BenchClock::real);
  // The words are parts of a name, not any piece of it.
  EXPECT_EQ(read(R"("run_name":"B/real_timer","cpu_time":2,"real_time":9,"time_unit":"ns")").clock,
            BenchClock::cpu);
}

TEST(GoogleBenchmark, AddsTheThreadsToTheNameOnce) {
  const auto name = [](std::string_view fields) {
    return read_report(ReportFormat::google_benchmark, bench(fields)).bench.rows.at(0).name;
  };
  EXPECT_EQ(name(R"("run_name":"B","threads":4,"cpu_time":1,"time_unit":"ns")"), "B/threads:4");
  EXPECT_EQ(name(R"("run_name":"B/threads:4","threads":4,"cpu_time":1,"time_unit":"ns")"),
            "B/threads:4");
}

TEST(GoogleBenchmark, TakesRowsWithoutAUsableTimeAsErrors) {
  const auto error = [](std::string_view fields) {
    return read_report(ReportFormat::google_benchmark, bench(fields)).bench.rows.at(0).error;
  };
  EXPECT_SAYS(error(R"("cpu_time":0,"time_unit":"ns")"), "zero or negative");
  EXPECT_SAYS(error(R"("cpu_time":-1,"time_unit":"ns")"), "zero or negative");
  EXPECT_SAYS(error(R"("cpu_time":NaN,"time_unit":"ns")"), "NaN or infinite");
  EXPECT_SAYS(error(R"("cpu_time":1e300,"time_unit":"ns")"), "over 2.5 hours");
  EXPECT_SAYS(error(R"("real_time":1,"time_unit":"ns")"), "has no time");
  EXPECT_SAYS(error(R"("cpu_time":1,"time_unit":"fortnights")"), "unknown time_unit");
  EXPECT_SAYS(error(R"("cpu_time":1,"time_unit":"ns","skipped":true,"skip_message":"no")"),
              "skipped: no");
  const ParsedReport none = read_report(
      ReportFormat::google_benchmark,
      R"({"benchmarks":[{"name":"B","run_type":"iteration","cpu_time":1,"time_unit":"ns"},
          {"name":"C","iterations":1,"cpu_time":1,"time_unit":"ns"}]})");
  EXPECT_SAYS(row(none, "B").error, "no iterations");
  EXPECT_SAYS(row(none, "C").error, "run_type");
}

TEST(GoogleBenchmark, NoticesABenchmarkOfWhichOnlyAggregatesAreThere) {
  const ParsedReport report =
      read_report(ReportFormat::google_benchmark,
                  R"({"benchmarks":[{"name":"B_mean","run_name":"B","run_type":"aggregate",
                      "cpu_time":1,"time_unit":"ns","iterations":3}]})");
  EXPECT_SAYS(row(report, "B").error, "only aggregates");
}

TEST(GoogleBenchmark, RefusesFilesThatCannotBeBelieved) {
  const auto error = [](std::string_view text) {
    return error_of(ReportFormat::google_benchmark, text);
  };
  EXPECT_SAYS(error(bench(R"("cpu_time":9,"cpu_time":1)")), "key 'cpu_time' stands twice");
  EXPECT_SAYS(error(R"({"benchmarks":[{"name":"B","repetition_index":0},
                                      {"name":"B","repetition_index":0}]})"),
              "repetition 0 twice");
  EXPECT_SAYS(error(R"({"context":{}})"), "not Google Benchmark's JSON");
  EXPECT_SAYS(error(R"({"benchmarks":[{}]})"), "without a name");
  EXPECT_SAYS(error("{\"benchmarks\":[]}\nnoise"), "line 2: something follows");
  EXPECT_SAYS(error("noise{\"benchmarks\":[]}"), "expected '{'");
}

// ---- All formats

TEST(Reports, ComeBackFromTheirJson) {
  for (const auto& [format, name] :
       {std::pair{ReportFormat::gtest_json, "gtest-json/traps.json"},
        std::pair{ReportFormat::ctest_junit, "ctest-junit/traps.xml"},
        std::pair{ReportFormat::google_benchmark, "google-benchmark/traps.json"},
        std::pair{ReportFormat::gtest_json, "ctest-junit/traps.xml"}}) {
    const ParsedReport report = read_report(format, sample(name));
    const os::Result<ParsedReport> back = report_from_json(report_to_json(report));
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, report);
  }
}

TEST(Reports, HaveOneJsonForm) {
  const ParsedReport report = read_report(ReportFormat::tap, "1..1\nok 1 - a\n");
  EXPECT_EQ(report_to_json(report),
            R"({"cases":[{"file":"","id":"a","line":0,"message":"","ms":0,"status":"passed"}],)"
            R"("error":"","format":"tap","schema":1})");
}

TEST(Reports, RefuseJsonThatNoReaderWrote) {
  const auto error = [](std::string_view json) {
    const os::Result<ParsedReport> report = report_from_json(json);
    return report ? std::string() : report.error().message;
  };
  const auto with_cases = [](std::string_view cases) {
    return R"({"cases":[)" + std::string(cases) + R"(],"error":"","format":"tap","schema":1})";
  };
  const std::string a = R"({"file":"","id":"a","line":0,"message":"","ms":0,"status":"passed"})";
  const std::string b = R"({"file":"","id":"b","line":0,"message":"","ms":0,"status":"passed"})";
  EXPECT_EQ(error(with_cases(a + "," + b)), "");
  EXPECT_SAYS(error(with_cases(b + "," + a)), "not sorted");
  EXPECT_SAYS(error(with_cases(a + "," + a)), "stand twice");
  EXPECT_SAYS(error(R"({"cases":[],"error":"","format":"tap","schema":2})"), "newer");
  EXPECT_SAYS(error(R"({"cases":[],"error":"","format":"tap","schema":1,"x":1})"), "unknown");
  EXPECT_SAYS(error(R"({"error":"","format":"tap","schema":1})"), "missing");
  EXPECT_SAYS(error(R"({"rows":[],"error":"","format":"tap","schema":1})"), "missing");
  EXPECT_SAYS(error("[" + std::string(100, '[')), "16 levels");
}

TEST(Reports, AreCutToFitTheirJson) {
  std::string text = "1..4500\n";
  for (int i = 0; i < 4500; ++i)
    text += "not ok - t" + std::to_string(i) + "\n# " + std::string(2000, '"') + "\n";
  const ParsedReport report = read_report(ReportFormat::tap, text);
  EXPECT_EQ(report.tests.cases.size(), 4500U);
  EXPECT_FALSE(report.tests.cases.front().message.empty());
  EXPECT_TRUE(report.tests.cases.back().message.empty());
  EXPECT_LE(report_to_json(report).size(), 16U << 20U);
}

TEST(Reports, RefuseNamesThatAreTooLong) {
  EXPECT_SAYS(error_of(ReportFormat::tap, "1..1\nok 1 - " + std::string(2000, 'x') + "\n"),
              "over 1024 bytes");
}

TEST(CleanText, ShowsWhatCouldActOnATerminal) {
  using reports::clean_text;
  EXPECT_EQ(clean_text("a\x1B[0m\x7F\tb\n", 100), "a\\x1B[0m\\x7F\tb\n");
  EXPECT_EQ(clean_text("a\r\nb\rc", 100), "a\nb\\x0Dc");
  EXPECT_EQ(clean_text("\xC2\x9B", 100), "\\x9B");
  EXPECT_EQ(clean_text("\xED\xA0\x80", 100), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(clean_text("äöü", 6), "äöü");
  EXPECT_EQ(clean_text("äöüä", 7), "äö…");
  EXPECT_EQ(clean_text("äöüä", 7, reports::Keep::tail), "…üä");
}

TEST(Reader, AnswersForEveryFileAndOnlyThenEndsWithZero) {
  const std::string program = tests::program_path("reader");
  REQUIRE_BUILT(program);
  const auto run = [&](const std::string& arguments) {
    std::string command = program;
    command += " " + arguments + " > " + testing::TempDir() + "answer.json 2>/dev/null";
    const int status = std::system(command.c_str());
    std::ifstream file(testing::TempDir() + "answer.json");
    std::ostringstream text;
    text << file.rdbuf();
    return std::pair{WEXITSTATUS(status), text.str()};
  };
  const std::string folder = tests::source_dir() / "tests/tasks/corpus/";
  const auto [good, json] = run("gtest-json " + folder + "gtest-json/traps.json");
  EXPECT_EQ(good, 0);
  const os::Result<ParsedReport> report = report_from_json(json);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tests.cases.size(), 11U);
  const auto [missing, why] = run("tap /nonexistent");
  EXPECT_EQ(missing, 0);
  EXPECT_SAYS(why, "/nonexistent");
  const auto [named, row] =
      run("criterion " + folder + "criterion/linear.json target/criterion/g/f/new/estimates.json");
  EXPECT_EQ(named, 0);
  EXPECT_SAYS(row, R"("name":"g/f")");
  EXPECT_EQ(run("junit /nonexistent").first, 2);
  EXPECT_EQ(run("").first, 2);
}

}  // namespace
}  // namespace tasks
