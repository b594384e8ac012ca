#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runner/cli/ci_report.h"

namespace runner::cli {
namespace {

// GitHub shows as many of each kind for a step.
constexpr std::size_t kMaxShown = 10;

// docs.github.com, "Workflow commands": data escapes %, CR and LF, properties ':' and ',' too.
std::string ci_escape(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.contains(c))
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}
std::string command_data(std::string_view text) { return ci_escape(text, "%\r\n"); }
std::string command_property(std::string_view text) { return ci_escape(text, "%\r\n:,"); }

std::string command(std::string_view kind, const CiGate& gate, const CiFinding& finding) {
  std::string properties = "title=" + command_property("gate " + gate.name);
  if (!finding.file.empty()) {
    properties += ",file=" + command_property(finding.file);
    if (finding.line > 0) properties += fmt::format(",line={}", finding.line);
  }
  return fmt::format("::{} {}::{}\n", kind, properties, command_data(finding.text));
}

void add_commands(const CiReport& report, CiStatus status, std::string_view kind,
                  std::string& out) {
  std::size_t count = 0;
  for (const CiGate& gate : report.gates) {
    if (gate.status != status) continue;
    std::vector<CiFinding> findings = gate.findings;
    std::erase_if(findings, [](const CiFinding& finding) { return finding.is_note; });
    if (findings.empty()) findings.push_back({gate.summary, {}, {}, 0, false});
    for (const CiFinding& finding : findings)
      if (count++ < kMaxShown) out += command(kind, gate, finding);
  }
  if (count > kMaxShown)
    out += fmt::format("::notice::{} more of this kind are in the report\n", count - kMaxShown);
}

}  // namespace

std::string to_github(const CiReport& report, std::string_view text, std::string_view token) {
  std::string out;
  add_commands(report, CiStatus::failed, "error", out);
  add_commands(report, CiStatus::inconclusive, "warning", out);
  if (out.empty() && report.verdict != "accepted")
    out += fmt::format("::error title=verdict::{}\n", command_data(report.reason));
  out += fmt::format("::stop-commands::{}\n{}", token, text);
  if (!out.ends_with('\n')) out += '\n';
  return out + fmt::format("::{}::\n", token);
}

}  // namespace runner::cli
