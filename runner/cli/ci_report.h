// Reports that CI systems read: JUnit, SARIF, GitHub's workflow commands, GitLab's code quality.
// Pure: from values to text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace runner::cli {

enum class CiStatus : std::uint8_t { passed, failed, inconclusive, not_run };

// One finding of a gate, or of the verdict itself. Texts may hold what a change chose.
struct CiFinding {
  std::string text;
  std::string where;  // test id, benchmark, step or path; may be empty
  std::string file;   // relative path in the repository; empty: unknown
  std::int64_t line = 0;
  bool is_note = false;  // said beside a failure
};

struct CiGate {
  std::string name;
  std::string kind;
  CiStatus status = CiStatus::not_run;
  std::string assurance;
  std::string summary;
  std::vector<CiFinding> findings;
};

struct CiReport {
  std::string verdict;        // accepted, rejected …
  std::string failure_class;  // empty if none
  std::string reason;
  std::vector<CiGate> gates;
  std::string version;  // of this program
};

// JUnit XML: a suite for each gate; a case for each finding, or one for the gate. An inconclusive
// gate is a failure of type "inconclusive", one that did not run is skipped. A verdict that no gate
// explains is a case of its own.
std::string to_junit(const CiReport& report);

// SARIF 2.1.0 (OASIS), one run, a rule for each gate. A finding without a file points to the
// policy, since GitHub takes no result without a place. At most 5,000 results.
std::string to_sarif(const CiReport& report);

// GitLab's code quality report: a JSON array of findings with distinct fingerprints.
std::string to_gitlab(const CiReport& report);

// GitHub's workflow commands: at most 10 errors and 10 warnings (more are not shown), how many were
// left out, and `text` between stop-commands lines of the random `token`, so that nothing in it
// acts.
std::string to_github(const CiReport& report, std::string_view text, std::string_view token);

}  // namespace runner::cli
