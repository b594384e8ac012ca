// reader KIND FILE [PATH]: reads one result file and answers what it says.
//
// reader compare identical LEFT RIGHT: says where two files or directories differ first.
// reader compare close PARITY LEFT RIGHT: says how near the arrays of LEFT are to those of RIGHT;
//   PARITY is the canonical JSON of a ParityOutput (tasks/tolerance.h).
//
// Rights: none. It runs in the strictest jail, without a workspace, and needs one readable file.
// Reads: argument 1, the format (a key of the policy's `report`); argument 2, the file, at most
//   64 MiB of hostile bytes; argument 3, what the policy calls the file.
// Answers on stdout: the canonical JSON of the parsed report (tasks/reports/report.h), at most
//   16 MiB, or of the comparison (tasks/comparison.h). A file that is missing, too large or cannot
//   be believed is an answer too: its `error` says why.
// Ends: 0 when it answered; 2 when it was called wrongly; 3 when it could not write.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/files.h"
#include "tasks/comparison.h"
#include "tasks/reports/compare.h"
#include "tasks/reports/report.h"

namespace {

// The file's bytes are gone when this returns: the jail has memory for them or for the answer.
tasks::ParsedReport read(tasks::ReportFormat format, const std::string& file,
                         const std::string& path) {
  constexpr std::size_t kMaxBytes = 64U << 20U;
  const os::Result<std::string> bytes = os::read_file(file, kMaxBytes);
  if (bytes) return tasks::read_report(format, *bytes, path);
  tasks::ParsedReport report;
  report.format = format;
  report.error = bytes.error().message;
  return report;
}

// The answer of `reader compare …`; nothing: called wrongly.
std::optional<std::string> compare(const std::vector<std::string>& arguments) {
  if (arguments.size() == 3 && arguments[0] == "identical")
    return tasks::comparison_to_json(tasks::reports::compare_identical(arguments[1], arguments[2]));
  if (arguments.size() != 4 || arguments[0] != "close") return std::nullopt;
  const os::Result<tasks::ParityOutput> parity = tasks::parity_output_from_json(arguments[1]);
  if (!parity) return std::nullopt;
  return tasks::comparison_to_json(
      tasks::reports::compare_close(*parity, arguments[2], arguments[3]));
}

// The answer, by the command line; nothing: called wrongly.
std::optional<std::string> answer(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments[0] == "compare")
    return compare({arguments.begin() + 1, arguments.end()});
  if (arguments.size() != 2 && arguments.size() != 3) return std::nullopt;
  const os::Result<tasks::ReportFormat> format = tasks::parse_report_format(arguments[0]);
  if (!format) return std::nullopt;
  return tasks::report_to_json(
      read(*format, arguments[1], arguments.size() == 3 ? arguments[2] : std::string()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<std::string> json = answer({argv + 1, argv + argc});
  if (!json) {
    std::fputs(
        "usage: reader KIND FILE [PATH]\n"
        "       reader compare identical LEFT RIGHT\n"
        "       reader compare close PARITY LEFT RIGHT\n",
        stderr);
    return 2;
  }
  const bool is_written = std::fwrite(json->data(), 1, json->size(), stdout) == json->size() &&
                          std::fflush(stdout) == 0;
  return is_written ? 0 : 3;
}
