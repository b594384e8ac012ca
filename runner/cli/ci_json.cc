// SARIF and GitLab's code quality report: the same findings as JSON.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "runner/cli/ci_report.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/escape.h"

namespace runner::cli {
namespace {

using nlohmann::json;

// GitHub keeps as many of a run.
constexpr std::size_t kMaxResults = 5000;
constexpr std::string_view kPolicy = "proofhouse.yaml";

// A finding with the gate it is of; `rule` is the gate's name or "verdict".
struct Result {
  std::string rule;
  std::string level;  // error, warning, note
  CiFinding finding;
};

std::vector<Result> results_of(const CiReport& report) {
  std::vector<Result> results;
  for (const CiGate& gate : report.gates) {
    const bool is_failed = gate.status == CiStatus::failed;
    if (!is_failed && gate.status != CiStatus::inconclusive) continue;
    std::size_t told = 0;
    for (const CiFinding& finding : gate.findings) {
      const std::string level = finding.is_note ? "note" : is_failed ? "error" : "warning";
      results.push_back({gate.name, level, finding});
      told += finding.is_note ? 0U : 1U;
    }
    if (told == 0)
      results.push_back(
          {gate.name, is_failed ? "error" : "warning", {gate.summary, {}, {}, 0, false}});
  }
  if (results.empty() && report.verdict != "accepted")
    results.push_back({"verdict", "error", {report.reason, {}, {}, 0, false}});
  if (results.size() > kMaxResults) results.resize(kMaxResults);
  return results;
}

// A relative path of the repository; anything else points to the policy.
std::string path_of(const CiFinding& finding) {
  const std::string& file = finding.file;
  const bool is_inside = !file.empty() && !file.starts_with('/') && !file.starts_with("..") &&
                         !file.contains("/..") && !file.contains(':');
  return is_inside ? file : std::string(kPolicy);
}

std::int64_t line_of(const CiFinding& finding) {
  return path_of(finding) == finding.file && finding.line > 0 ? finding.line : 1;
}

// The same finding of the same place keeps its fingerprint from run to run; `number` tells apart
// those that are alike.
std::string fingerprint(const Result& result, std::size_t number) {
  return os::sha256(result.rule + '\n' + path_of(result.finding) + '\n' + result.finding.where +
                    '\n' + std::to_string(number))
      .hex();
}

std::string dump(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string to_sarif(const CiReport& report) {
  json rules = json::array();
  for (const CiGate& gate : report.gates)
    rules.push_back(
        {{"id", gate.name},
         {"shortDescription", {{"text", "gate " + gate.name + " (" + gate.kind + ")"}}}});
  rules.push_back({{"id", "verdict"}, {"shortDescription", {{"text", "the verdict"}}}});
  json results = json::array();
  std::size_t number = 0;
  for (const Result& result : results_of(report)) {
    const json place{
        {"physicalLocation",
         {{"artifactLocation", {{"uri", os::percent_encode(path_of(result.finding), "/")}}},
          {"region", {{"startLine", line_of(result.finding)}}}}}};
    results.push_back(
        {{"ruleId", result.rule},
         {"level", result.level},
         {"message", {{"text", result.finding.text}}},
         {"locations", json::array({place})},
         {"partialFingerprints",
          {{"primaryLocationLineHash", fingerprint(result, number++).substr(0, 16) + ":1"}}}});
  }
  const json driver{
      {"name", "Proofhouse"}, {"semanticVersion", report.version}, {"rules", std::move(rules)}};
  json run{{"tool", {{"driver", driver}}},
           {"automationDetails", {{"id", "proofhouse/check/"}}},
           {"results", std::move(results)}};
  return dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", json::array({std::move(run)})}});
}

std::string to_gitlab(const CiReport& report) {
  json findings = json::array();
  std::size_t number = 0;
  for (const Result& result : results_of(report)) {
    const std::string severity = result.level == "error"     ? "critical"
                                 : result.level == "warning" ? "major"
                                                             : "info";
    findings.push_back(
        {{"description", result.finding.text},
         {"check_name", result.rule},
         {"fingerprint", fingerprint(result, number++)},
         {"severity", severity},
         {"location",
          {{"path", path_of(result.finding)}, {"lines", {{"begin", line_of(result.finding)}}}}}});
  }
  return dump(findings);
}

}  // namespace runner::cli
