// Verdict: what the gates say of evidence, and how far it can be trusted. Values only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace gates {

enum class GateStatus : std::uint8_t { passed, failed, inconclusive, not_run };
enum class Verdict : std::uint8_t { accepted, rejected, inconclusive, error, ran };

// Why a task ended as it did (DESIGN.md §1). `none`: accepted, or ran with success.
enum class FailureClass : std::uint8_t {
  none,
  build,
  test,
  benchmark,
  report,
  diff,
  limit,
  guarded,
  review,
  flaky,
  determinism,
  parity,
  infra,
  base,
  internal
};

std::string_view gate_status_name(GateStatus status);
std::string_view verdict_name(Verdict verdict);
std::string_view failure_class_name(FailureClass failure);
os::Result<Verdict> parse_verdict(std::string_view name);
os::Result<FailureClass> parse_failure_class(std::string_view name);

// One finding, for a person and for an agent.
struct Reason {
  std::string text;      // "Ring.Wraps failed: expected 3, got 4 (tests/ring_test.cc:41)"
  std::string where;     // test id, benchmark name, step or path
  std::string evidence;  // run id whose log or report shows it; empty if none
  std::map<std::string, std::int64_t>
      figures;  // named integers: ratio_ppm, low_ppm, high_ppm, pairs
  bool operator==(const Reason&) const = default;
};

struct GateResult {
  tasks::GateName name;
  tasks::GateKind kind = tasks::GateKind::tests;
  GateStatus status = GateStatus::not_run;
  FailureClass failure = FailureClass::none;  // if failed or inconclusive
  tasks::Assurance assurance = tasks::Assurance::in_process;
  std::vector<Reason> reasons;  // most important first; at most 100
  std::string summary;          // one line: "12 tests passed, 2 of them new"
  bool operator==(const GateResult&) const = default;
};

struct Judgement {
  Verdict verdict = Verdict::error;
  FailureClass failure = FailureClass::none;
  std::optional<tasks::Assurance> assurance;  // of the verdict, if accepted
  Reason reason;                              // the one to show first
  std::string next_step;                      // what the author can do now
  std::vector<GateResult> gates;              // in the policy's order
  // The base's checks could not be run against the change (a mixed tree that does not build): no
  // rejection, but owners must decide.
  bool waits_for_owners = false;
  // Gates with `inconclusive: ask` that an approval must name.
  std::vector<tasks::GateName> asks;
  bool operator==(const Judgement&) const = default;
};

// Canonical JSON; the same judgement gives the same bytes.
std::string judgement_to_json(const Judgement& judgement);
os::Result<Judgement> judgement_from_json(std::string_view json);

}  // namespace gates
