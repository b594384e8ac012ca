// The benchmark gate: base and change in interleaved pairs of fresh processes, three verdicts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "gates/runs.h"
#include "tasks/policy.h"

namespace gates {

// Numbers of pairs at which the gate looks; the last is the most that it asks for.
inline constexpr std::array<int, 6> kLooks{8, 12, 16, 24, 32, 48};

// Probability that a benchmark slower by the tolerance or more passes; spent evenly over the looks
// (union bound).
inline constexpr double kPassError = 0.05;
// Probability that a gate whose benchmarks are all slower by at most a sixth of the tolerance
// fails; spent evenly over benchmarks and over the looks from kFirstRegressLook on.
inline constexpr double kRegressError = 0.01;
inline constexpr int kFirstRegressLook = 16;

// Margins of the gate as log ratios.
struct Margins {
  double lower = 0;  // noise and layout: ln(1 + tolerance / 6)
  double upper = 0;  // ln(1 + tolerance)
};
Margins margins_of(tasks::Share tolerance);

enum class Trend : std::uint8_t { undecided, passed, regressed };

// What differences (ln other − ln base, one a pair, in the order of the pairs) say of one of so
// many benchmarks, and the look at which it was decided, or the last one reached.
struct TrendResult {
  Trend trend = Trend::undecided;
  int pairs = 0;        // 0: no look was reached
  double estimate = 0;  // ratio other / base, Hodges–Lehmann
  double low = 0;       // bounds of the ratio
  double high = 0;
  double spread = 0;  // robust standard deviation of the log ratio of a pair
};
// One look, at a number of pairs of kLooks.
TrendResult look_at(std::span<const double> differences, std::size_t benchmarks,
                    const Margins& margins);
// Look after look until it is decided or the differences end.
TrendResult find_trend(std::span<const double> differences, std::size_t benchmarks,
                       const Margins& margins);

// How far `gate` (kind benchmark) has come, and its result when it is decided: failed as soon as a
// benchmark has regressed, passed when all have passed, inconclusive after the last look. Compares
// the base with the change, or with the mixed tree if guarded files are touched.
Progress benchmark_progress(const Context& context, const tasks::Gate& gate);

}  // namespace gates
