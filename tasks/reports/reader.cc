// reader KIND FILE [PATH]: reads one result file and answers what it says.
//
// Rights: none. It runs in the strictest jail, without a workspace, and needs one readable file.
// Reads: argument 1, the format (a key of the policy's `report`); argument 2, the file, at most
//   64 MiB of hostile bytes; argument 3, what the policy calls the file.
// Answers on stdout: the canonical JSON of the parsed report (tasks/reports/report.h), at most
//   16 MiB. A file that is missing, too large or cannot be believed is an answer too: its `error`
//   says why.
// Ends: 0 when it answered; 2 when it was called wrongly; 3 when it could not write.

#include <cstdio>
#include <string>

#include "sandbox/os/files.h"
#include "tasks/reports/report.h"

namespace {

// The file's bytes are gone when this returns: the jail has memory for them or for the answer.
tasks::ParsedReport read(tasks::ReportFormat format, const char* file, const char* path) {
  constexpr std::size_t kMaxBytes = 64U << 20U;
  const os::Result<std::string> bytes = os::read_file(file, kMaxBytes);
  if (bytes) return tasks::read_report(format, *bytes, path);
  tasks::ParsedReport report;
  report.format = format;
  report.error = bytes.error().message;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: reader KIND FILE [PATH]\n", stderr);
    return 2;
  }
  const os::Result<tasks::ReportFormat> format = tasks::parse_report_format(argv[1]);
  if (!format) {
    std::fprintf(stderr, "reader: %s\n", format.error().message.c_str());
    return 2;
  }
  const std::string json = tasks::report_to_json(read(*format, argv[2], argc == 4 ? argv[3] : ""));
  const bool is_written =
      std::fwrite(json.data(), 1, json.size(), stdout) == json.size() && std::fflush(stdout) == 0;
  return is_written ? 0 : 3;
}
