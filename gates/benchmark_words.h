// Words of the benchmark gate: its findings as a result with reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gates/sequential_test.h"
#include "gates/verdict.h"
#include "tasks/policy.h"

namespace gates {

inline constexpr std::string_view kGeometricMean = "the geometric mean";

// What a relinked build said of a benchmark that regressed.
struct Confirmation {
  bool is_confirmed = false;
  double estimate = 0;  // ln of the ratio
};

struct NamedTrend {
  std::string name;
  TrendResult trend;
  std::optional<Confirmation> confirmation;
};

struct NamedClaim {
  std::string name;        // benchmark, or the gate for the mean of all
  std::int64_t share = 0;  // claimed, in millionths
  ClaimResult result;
};

// All that a benchmark gate found.
struct GateFindings {
  std::vector<NamedTrend> trends;
  std::vector<NamedClaim> claims;
  std::vector<Reason> notes;
  bool has_regressed = false;
  std::string run;           // of the change, for the reasons
  std::string unconfirmed;   // why no relinked build could confirm; empty: it could
  std::int64_t earlier = 0;  // tests that this one is a retry of
};

// The benchmark that a key of claims.faster names for this gate: "" for the mean ("speed"), a name
// ("speed/BM_Dot"), nothing for another gate.
std::optional<std::string> claimed_benchmark(std::string_view key, std::string_view gate);

// Sets status, failure, summary and reasons of `result`.
void conclude_benchmark(const GateFindings& findings, const tasks::Gate& gate, GateResult& result);

}  // namespace gates
