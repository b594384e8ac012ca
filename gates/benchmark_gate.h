// The benchmark gate: base and change in pairs of fresh processes in random order, three verdicts.
#pragma once

#include <string>
#include <vector>

#include "gates/runs.h"
#include "gates/sequential_test.h"
#include "tasks/policy.h"

namespace gates {

// Pairs of relinked builds by which a slow-down is confirmed before it blocks.
inline constexpr int kConfirmingPairs = 16;

// How far `gate` (kind benchmark) has come, and its result when it is decided: failed when a
// benchmark (or the geometric mean of all) has regressed and a relinked build confirms it, or when
// a claim of an improvement is refuted; passed when all have passed and all claims hold;
// inconclusive after the last look, or where the slow-down was one of layout. Compares the base
// with the change, or with the mixed tree if guarded files are touched. After each look only what
// is undecided is measured further.
Progress benchmark_progress(const Context& context, const tasks::Gate& gate);

// What the gate measured of one benchmark, for showing it: ln other − ln base of each pair that
// counted, in their order.
struct BenchmarkSeries {
  std::string name;  // kGeometricMean: of all of them
  std::vector<double> differences;
  TrendResult result;
};
// Empty before the first look. The mean comes last, if there is more than one benchmark.
std::vector<BenchmarkSeries> benchmark_series(const Context& context, const tasks::Gate& gate);

}  // namespace gates
