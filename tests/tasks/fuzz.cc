#include "tests/tasks/fuzz.h"

#include "sandbox/os/result.h"
#include "tasks/reports/report.h"

namespace tests {

void fuzz_reader(tasks::ReportFormat format, std::string_view bytes) {
  constexpr std::size_t kMaxJson = 16U << 20U;
  const tasks::ParsedReport report = tasks::read_report(format, bytes, "criterion/a/new/b.json");
  const std::string json = tasks::report_to_json(report);
  os::check(json.size() <= kMaxJson, "a reader's answer is over 16 MiB");
  const os::Result<tasks::ParsedReport> again = tasks::report_from_json(json);
  os::check(again.has_value(), "a reader's answer cannot be read back");
  os::check(*again == report, "a reader's answer changes on its way");
}

}  // namespace tests
