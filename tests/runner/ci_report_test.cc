// Reports for CI systems, read back as their readers do: JUnit by our own reader of it, JSON by its
// members, GitHub's commands line by line.

#include "runner/cli/ci_report.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sandbox/os/files.h"
#include "tasks/reports/report.h"
#include "tests/support/capability.h"
#include "tests/support/expect.h"
#include "tests/support/programs.h"

namespace {

using nlohmann::json;
using runner::cli::CiReport;
using runner::cli::CiStatus;

constexpr std::string_view kHostile = "x\x1B[31m\n::error::owned\n]]></failure>& \"q\" %0A";

CiReport rejected() {
  CiReport report;
  report.verdict = "rejected";
  report.failure_class = "test";
  report.reason = "Ring.Wraps failed";
  report.version = "0.1.0";
  report.gates.push_back({"tests", "tests", CiStatus::failed, "in-process", "2 failed", {}});
  report.gates.back().findings = {
      {std::string(kHostile), "Ring.Wraps", "tests/ring test.cc", 41, false},
      {"gone", "Ring.Grows", "/etc/passwd", 3, false}};
  report.gates.push_back({"speed", "benchmark", CiStatus::inconclusive, "in-process", "noise", {}});
  report.gates.push_back({"size", "diff", CiStatus::passed, "out-of-process", "3 lines", {}});
  report.gates.push_back({"judged", "tests", CiStatus::not_run, "in-process", "not run", {}});
  return report;
}

tasks::CaseStatus status_of(const tasks::ParsedReport& report, std::string_view id) {
  const auto found = std::ranges::find(report.tests.cases, id, &tasks::TestCase::id);
  EXPECT_NE(found, report.tests.cases.end()) << id;
  return found == report.tests.cases.end() ? tasks::CaseStatus::notrun : found->status;
}

TEST(CiReport, IsJunitThatReadersOfItUnderstand) {
  const std::string xml = to_junit(rejected());
  const tasks::ParsedReport report = tasks::read_report(tasks::ReportFormat::pytest_junit, xml);
  ASSERT_EQ(report.error, "") << xml;
  EXPECT_EQ(report.tests.cases.size(), 5U);
  EXPECT_EQ(status_of(report, "tests.Ring.Wraps (1)"), tasks::CaseStatus::failed);
  EXPECT_EQ(status_of(report, "tests.Ring.Grows (2)"), tasks::CaseStatus::failed);
  EXPECT_EQ(status_of(report, "speed.speed"), tasks::CaseStatus::failed);
  EXPECT_EQ(status_of(report, "size.size"), tasks::CaseStatus::passed);
  EXPECT_EQ(status_of(report, "judged.judged"), tasks::CaseStatus::skipped);
  EXPECT_SAYS(xml, "tests=\"5\" failures=\"3\" errors=\"0\" skipped=\"1\"");
  EXPECT_EQ(xml.find('\x1B'), std::string::npos);
}

TEST(CiReport, TellsAVerdictThatNoGateExplains) {
  CiReport report;
  report.verdict = "error";
  report.failure_class = "infra";
  report.reason = "the machine went away";
  EXPECT_SAYS(to_junit(report), "<error message=\"the machine went away\" type=\"infra\"");
  EXPECT_EQ(json::parse(to_sarif(report))["runs"][0]["results"].size(), 1U);
  EXPECT_EQ(json::parse(to_gitlab(report)).size(), 1U);
  EXPECT_SAYS(to_github(report, "", "T"), "::error title=verdict::the machine went away\n");
}

TEST(CiReport, SaysNothingIsWrongWhereNothingIs) {
  CiReport report;
  report.verdict = "accepted";
  EXPECT_TRUE(json::parse(to_sarif(report))["runs"][0]["results"].empty());
  EXPECT_EQ(to_gitlab(report), "[]\n");
  EXPECT_EQ(to_github(report, "text", "T"), "::stop-commands::T\ntext\n::T::\n");
}

// The members that SARIF 2.1.0 (§3.13 to §3.30) and GitHub ask for.
TEST(CiReport, IsSarifWithAPlaceForEveryResult) {
  const json sarif = json::parse(to_sarif(rejected()));
  EXPECT_EQ(sarif["version"], "2.1.0");
  const json& run = sarif["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["semanticVersion"], "0.1.0");
  std::set<std::string> rules;
  for (const json& rule : run["tool"]["driver"]["rules"]) rules.insert(rule["id"]);
  ASSERT_EQ(run["results"].size(), 3U);
  std::set<std::string> prints;
  for (const json& result : run["results"]) {
    EXPECT_TRUE(rules.contains(result["ruleId"]));
    const json& place = result["locations"][0]["physicalLocation"];
    EXPECT_GE(place["region"]["startLine"], 1);
    EXPECT_EQ(std::string(place["artifactLocation"]["uri"]).find(' '), std::string::npos);
    prints.insert(result["partialFingerprints"]["primaryLocationLineHash"]);
  }
  EXPECT_EQ(prints.size(), 3U);
  const json& first = run["results"][0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(first["artifactLocation"]["uri"], "tests/ring%20test.cc");
  EXPECT_EQ(first["region"]["startLine"], 41);
  EXPECT_EQ(run["results"][2]["level"], "warning");
  // A place outside the repository is none.
  EXPECT_EQ(run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "proofhouse.yaml");
}

TEST(CiReport, IsGitlabsCodeQualityWithDistinctFingerprints) {
  const json findings = json::parse(to_gitlab(rejected()));
  ASSERT_EQ(findings.size(), 3U);
  std::set<std::string> prints;
  for (const json& finding : findings) {
    prints.insert(finding["fingerprint"]);
    EXPECT_TRUE(finding["severity"] == "critical" || finding["severity"] == "major");
    EXPECT_GE(finding["location"]["lines"]["begin"], 1);
  }
  EXPECT_EQ(prints.size(), 3U);
}

TEST(CiReport, LetsNothingUntrustedActOnGithub) {
  const std::string text = to_github(rejected(), std::string(kHostile) + "\n", "TOKEN");
  EXPECT_SAYS(text,
              "::error title=gate tests,file=tests/ring test.cc,line=41::x\x1B[31m%0A::error");
  // A line of the text begins with a command, but commands are stopped there.
  const std::size_t stop = text.find("::stop-commands::TOKEN\n");
  ASSERT_NE(stop, std::string::npos);
  EXPECT_EQ(text.substr(0, stop).find("\n::error::owned"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\n::TOKEN::\n"));
}

TEST(CiReport, ShowsTheFirstTenAndHowManyMoreThereAre) {
  CiReport report = rejected();
  report.gates[0].findings.assign(13, {"no", "T", "", 0, false});
  const std::string text = to_github(report, "", "T");
  std::size_t errors = 0;
  for (std::size_t at = text.find("::error "); at != text.npos; at = text.find("::error ", at + 1))
    ++errors;
  EXPECT_EQ(errors, 10U);
  EXPECT_SAYS(text, "::notice::3 more");
}

// By OASIS's schema of SARIF, and the parser of JUnit that CI tools of Python use.
TEST(CiReport, IsReadByStrangersWithoutComplaint) {
  REQUIRE_CAPABILITY(ci_readers);
  const os::TempDir directory = *os::TempDir::create();
  ASSERT_TRUE(os::write_file_durably(directory / "a.sarif", to_sarif(rejected())).has_value());
  ASSERT_TRUE(os::write_file_durably(directory / "a.xml", to_junit(rejected())).has_value());
  // Debian's own, whose packages those are.
  const std::string source = tests::source_dir();
  const std::string command = "/usr/bin/python3 " + source + "/tests/runner/check_ci_reports.py " +
                              source + "/build/deps/sarif/sarif-2.1.0.json " +
                              (directory / "a.sarif") + " " + (directory / "a.xml");
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
