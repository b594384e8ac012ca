// The words of the verdict's enums, as json_archive.h reads and writes them, in their order.
#pragma once

#include <array>
#include <string_view>

#include "gates/verdict.h"
#include "tasks/json_archive.h"

namespace tasks::archive {

template <>
struct Words<gates::GateStatus> {
  static constexpr std::array<std::string_view, 4> kAll{"passed", "failed", "inconclusive",
                                                        "not_run"};
};
template <>
struct Words<gates::Verdict> {
  static constexpr std::array<std::string_view, 5> kAll{"accepted", "rejected", "inconclusive",
                                                        "error", "ran"};
};
template <>
struct Words<gates::FailureClass> {
  static constexpr std::array<std::string_view, 15> kAll{
      "none",   "build", "test",        "benchmark", "report", "diff", "limit",   "guarded",
      "review", "flaky", "determinism", "parity",    "infra",  "base", "internal"};
};

}  // namespace tasks::archive
