// Words of a parsed report's JSON.
#pragma once

#include <array>
#include <string_view>

#include "tasks/reports/report.h"
#include "tasks/shared_json.h"

namespace tasks::archive {

template <>
struct Words<CaseStatus> {
  static constexpr std::array<std::string_view, 9> kAll{
      "passed", "failed", "error", "skipped", "disabled", "notrun", "flaky", "xfail", "xpass"};
};

template <>
struct Words<BenchClock> {
  static constexpr std::array<std::string_view, 3> kAll{"cpu", "real", "manual"};
};

}  // namespace tasks::archive
