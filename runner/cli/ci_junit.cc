#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "runner/cli/ci_report.h"
#include "sandbox/os/escape.h"

namespace runner::cli {
namespace {

// XML 1.0 §2.2: no control characters but tab, newline and carriage return, no U+FFFE and U+FFFF.
std::string xml_escape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n';
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
      out += "\xEF\xBF\xBD";
      i += 2;
    } else if (is_control) {
      out += "\xEF\xBF\xBD";
    } else if (c == '\n') {
      out += "&#10;";
    } else if (const std::string_view entity = os::markup_entity(c); !entity.empty()) {
      out += entity;
    } else {
      out += c;
    }
  }
  return out;
}

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skipped = 0;
};

class Suite {
 public:
  explicit Suite(std::string_view name) : name_(xml_escape(name)) {}

  void add(std::string_view name, std::string_view element, std::string_view type,
           std::string_view text) {
    ++counts_.tests;
    counts_.failures += element == "failure" ? 1U : 0U;
    counts_.errors += element == "error" ? 1U : 0U;
    counts_.skipped += element == "skipped" ? 1U : 0U;
    cases_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"0\">", name_,
                          xml_escape(name));
    if (element == "skipped")
      cases_ += fmt::format("<skipped message=\"{}\"/>", xml_escape(text));
    else if (element == "system-out")
      cases_ += fmt::format("<system-out>{}</system-out>", xml_escape(text));
    else
      cases_ += fmt::format("<{0} message=\"{1}\" type=\"{2}\">{1}</{0}>", element,
                            xml_escape(text), xml_escape(type));
    cases_ += "</testcase>\n";
  }

  std::string text() const {
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"0\">\n{}  </testsuite>\n",
        name_, counts_.tests, counts_.failures, counts_.errors, counts_.skipped, cases_);
  }
  const Counts& counts() const { return counts_; }

 private:
  std::string name_;
  Counts counts_;
  std::string cases_;
};

Suite suite_of(const CiGate& gate) {
  Suite suite(gate.name);
  switch (gate.status) {
    case CiStatus::passed:
      suite.add(gate.name, "system-out", {}, gate.summary + "\nassurance: " + gate.assurance);
      break;
    case CiStatus::not_run:
      suite.add(gate.name, "skipped", {}, gate.summary);
      break;
    case CiStatus::failed:
    case CiStatus::inconclusive:
      const std::string_view type =
          gate.status == CiStatus::failed ? std::string_view(gate.kind) : "inconclusive";
      std::size_t number = 0;
      for (const CiFinding& finding : gate.findings) {
        if (finding.is_note) continue;
        // Names within a suite are distinct, so that none hides another.
        const std::string name = finding.where.empty() ? gate.name : finding.where;
        suite.add(fmt::format("{} ({})", name, ++number), "failure", type, finding.text);
      }
      if (number == 0) suite.add(gate.name, "failure", type, gate.summary);
      break;
  }
  return suite;
}

}  // namespace

std::string to_junit(const CiReport& report) {
  std::string suites;
  Counts sum;
  const auto add = [&](const Suite& suite) {
    suites += suite.text();
    sum.tests += suite.counts().tests;
    sum.failures += suite.counts().failures;
    sum.errors += suite.counts().errors;
    sum.skipped += suite.counts().skipped;
  };
  for (const CiGate& gate : report.gates) add(suite_of(gate));
  if (report.verdict != "accepted" && sum.failures == 0) {
    Suite verdict("verdict");
    verdict.add(report.verdict, report.verdict == "error" ? "error" : "failure",
                report.failure_class, report.reason);
    add(verdict);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"proofhouse\" tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"0\">\n{}</testsuites>\n",
      sum.tests, sum.failures, sum.errors, sum.skipped, suites);
}

}  // namespace runner::cli
