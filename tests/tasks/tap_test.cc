// The reader of the Test Anything Protocol, versions 12 to 14.

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tasks/reports/report.h"
#include "tests/support/expect.h"

namespace tasks {
namespace {

ParsedReport read(std::string_view text) { return read_report(ReportFormat::tap, text); }

TestCase case_of(const ParsedReport& report, std::string_view id) {
  const auto found = std::ranges::find(report.tests.cases, id, &TestCase::id);
  EXPECT_NE(found, report.tests.cases.end()) << id << " " << report.error;
  return found == report.tests.cases.end() ? TestCase{} : *found;
}

TEST(Tap, ReadsTestsInAnyVersionWithThePlanAtEitherEnd) {
  for (const char* const text :
       {"1..2\nok 1 - a\nnot ok 2 - b\n", "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n",
        "TAP version 14\r\n1..2\r\nok 1 - a\r\nnot ok 2 - b\r\n", "1..2\nok a\nnot ok b"}) {
    const ParsedReport report = read(text);
    EXPECT_EQ(report.error, "") << text;
    EXPECT_EQ(case_of(report, "a").status, CaseStatus::passed);
    EXPECT_EQ(case_of(report, "b").status, CaseStatus::failed);
  }
}

TEST(Tap, NumbersTestsWithoutADescription) {
  const ParsedReport report = read("1..2\nok\nnot ok 2\n");
  EXPECT_EQ(case_of(report, "test 1").status, CaseStatus::passed);
  EXPECT_EQ(case_of(report, "test 2").status, CaseStatus::failed);
}

TEST(Tap, KnowsItsDirectives) {
  const ParsedReport report = read(
      "1..6\n"
      "ok 1 - a # SKIP no gpu\n"
      "ok 2 - b # skipped: later\n"
      "not ok 3 - c # TO"
      "DO not written\n"
      "ok 4 - d # to"
      "do done already\n"
      "not ok 5 - e # SKIP\n"
      "not ok 6 - issue \\# SKIP # 7\n");
  EXPECT_EQ(case_of(report, "a").status, CaseStatus::skipped);
  EXPECT_EQ(case_of(report, "a").message, "no gpu");
  EXPECT_EQ(case_of(report, "b").status, CaseStatus::skipped);
  EXPECT_EQ(case_of(report, "c").status, CaseStatus::xfail);
  EXPECT_EQ(case_of(report, "c").message, "expected to fail: not written");
  EXPECT_EQ(case_of(report, "d").status, CaseStatus::xpass);
  EXPECT_EQ(case_of(report, "e").status, CaseStatus::failed);
  EXPECT_EQ(case_of(report, "issue # SKIP # 7").status, CaseStatus::failed);
}

TEST(Tap, TakesDiagnosticsAndYamlAsTheMessageOfAFailure) {
  const ParsedReport report = read(
      "1..2\n"
      "not ok 1 - a\n"
      "# got 3\n"
      "  ---\n"
      "  expected: 4\n"
      "  not ok 9 - no test: it stands in the block\n"
      "  ...\n"
      "ok 2 - b\n"
      "# about b\n");
  ASSERT_EQ(report.error, "");
  EXPECT_SAYS(case_of(report, "a").message, "# got 3\nexpected: 4\nnot ok 9");
  EXPECT_EQ(case_of(report, "b").message, "");
}

TEST(Tap, PassesOverWhatIsNoTap) {
  const ParsedReport report = read("hello\n1..1\nokay 7\n  noise\nok 1 - a\npragma +strict\n\n");
  EXPECT_EQ(report.error, "");
  EXPECT_EQ(report.tests.cases.size(), 1U);
}

TEST(Tap, AnswersNoCasesForAPlanOfNone) {
  const ParsedReport report = read("1..0 # SKIP no compiler\n");
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.tests.cases.empty());
}

TEST(Tap, FailsATestWhoseSubtestFailedWhateverItSays) {
  const ParsedReport report = read(
      "TAP version 14\n"
      "1..3\n"
      "# Subtest: a\n"
      "    1..2\n"
      "    ok 1 - x\n"
      "    not ok 2 - y\n"
      "ok 1 - a\n"
      "    1..2\n"
      "    ok 1 - x\n"
      "ok 2 - b\n"
      "    1..1\n"
      "    not ok 1 - z # TO"
      "DO\n"
      "ok 3 - c\n");
  ASSERT_EQ(report.error, "");
  EXPECT_EQ(case_of(report, "a").status, CaseStatus::failed);
  EXPECT_SAYS(case_of(report, "a").message, "its subtest failed: y");
  EXPECT_EQ(case_of(report, "b").status, CaseStatus::failed);
  EXPECT_SAYS(case_of(report, "b").message, "the plan says 2 tests, 1 came");
  EXPECT_EQ(case_of(report, "c").status, CaseStatus::passed);
}

TEST(Tap, FailsATestWhoseSubtestsSubtestFailed) {
  const ParsedReport report = read(
      "1..1\n"
      "        1..1\n"
      "        not ok 1 - deep\n"
      "    1..1\n"
      "    ok 1 - middle\n"
      "ok 1 - a\n");
  ASSERT_EQ(report.error, "");
  EXPECT_EQ(case_of(report, "a").status, CaseStatus::failed);
}

TEST(Tap, RefusesFilesThatCannotBeBelieved) {
  const auto error = [](std::string_view text) { return read(text).error; };
  EXPECT_SAYS(error(""), "there is no plan");
  EXPECT_SAYS(error("ok 1 - a\n"), "there is no plan");
  EXPECT_SAYS(error("1..3\nok 1\nok 2\n"), "the plan says 3 tests, 2 came");
  EXPECT_SAYS(error("1..1\nok 1\nok 2\n"), "the plan says 1 tests, 2 came");
  EXPECT_SAYS(error("1..2\n1..2\nok 1\nok 2\n"), "line 2: a second plan");
  EXPECT_SAYS(error("ok 1\n1..2\nok 2\n"), "after the plan");
  EXPECT_SAYS(error("1..2\nok 1\nok 1\n"), "stands twice");
  EXPECT_SAYS(error("1..2\nok 1\nok 5\n"), "outside the plan");
  EXPECT_SAYS(error("1..2\nok 0\nok 2\n"), "below 1");
  EXPECT_SAYS(error("1..2\nok 1 - a\nok 2 - a\n"), "two test cases are called 'a'");
  EXPECT_SAYS(error("1..2\nok 1\nBail out! no database\n"), "no database");
  EXPECT_SAYS(error("1..1\n    Bail out!\nok 1\n"), "gave up");
  EXPECT_SAYS(error("TAP version 99\n1..0\n"), "TAP version");
  EXPECT_SAYS(error("1..1\nok 1\n  ---\n  a: b\n"), "YAML block is not closed");
  EXPECT_SAYS(error("1..2\nok 1\n  ---\nnot ok 2\n  ...\n"), "YAML block is not closed");
  EXPECT_SAYS(error("1..1\nok 1\n    1..1\n    ok 1\n"), "not followed by its test");
  EXPECT_SAYS(error("1..200000\n"), "over 100,000");
}

TEST(Tap, SurvivesMutations) {
  const std::string good =
      "TAP version 14\n1..3\n# Subtest: a\n    1..1\n    ok 1 - x\nok 1 - a\n"
      "not ok 2 - b\n  ---\n  m: n\n  ...\nok 3 - c # SKIP why\n";
  const unsigned seed = 20'261'130;
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (auto edits = random() % 4 + 1; edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text.erase(at, std::min<std::size_t>(random() % 10 + 1, text.size() - at));
      else
        text[at] = " \n#-.okn1\\\xFF"[random() % 11];
    }
    const ParsedReport report = read(text);
    const os::Result<ParsedReport> back = report_from_json(report_to_json(report));
    ASSERT_TRUE(back && *back == report) << "seed " << seed << ":\n" << text;
  }
}

}  // namespace
}  // namespace tasks
