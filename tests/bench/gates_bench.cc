// `./dev bench gates [--gates N] [--trials N] [simulate|live]`: how often the benchmark gate errs.
// First on simulated noise, beside other ways on the same kind of samples; then live on this
// machine, on programs whose slow-down is verified by counting instructions.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "gates/statistics.h"
#include "tests/bench/gates_live.h"
#include "tests/support/gate_simulator.h"

namespace {

constexpr std::size_t kBenchmarks = 20;
constexpr tasks::Share kTolerance{30'000};

struct Options {
  int gates = 600;
  int trials = 150;
  tests::LiveOptions live;
  bool simulates = true;
  bool runs_live = true;
};

std::string rate(int count, int of) { return fmt::format("{:.1f}", 100.0 * count / of); }

// One gate in which nothing is slower counts as blocked if any of its benchmarks is called slower.
void print_other_ways(const tests::NoiseProfile& profile, const Options& options) {
  constexpr std::array<const char*, 5> kNames{
      "mean > 5 %, 10 interleaved", "compare.py: U, 1 process x 10 reps", "U, 10 interleaved",
      "benchstat: U, 20 interleaved", "Welch on means, 10 interleaved"};
  constexpr std::array kEffects{0.0, 0.01, 0.02, 0.03, 0.05, 0.10};
  std::array<std::array<int, kEffects.size()>, kNames.size()> counts{};
  const auto flags = [](const tests::OtherWays& ways) {
    return std::array{ways.threshold, ways.compare_py, ways.u_interleaved, ways.benchstat,
                      ways.welch};
  };
  std::uint64_t seed = 1;
  for (int gate = 0; gate < options.gates; ++gate) {
    std::array<bool, kNames.size()> any{};
    for (std::size_t i = 0; i < kBenchmarks; ++i) {
      const auto said = flags(tests::simulate_other_ways(profile, 0, seed++));
      for (std::size_t way = 0; way < kNames.size(); ++way) any[way] = any[way] || said[way];
    }
    for (std::size_t way = 0; way < kNames.size(); ++way) counts[way][0] += any[way] ? 1 : 0;
  }
  for (std::size_t effect = 1; effect < kEffects.size(); ++effect) {
    for (int trial = 0; trial < options.trials; ++trial) {
      const auto said = flags(tests::simulate_other_ways(profile, kEffects[effect], seed++));
      for (std::size_t way = 0; way < kNames.size(); ++way) {
        counts[way][effect] += said[way] ? 1 : 0;
      }
    }
  }
  for (std::size_t way = 0; way < kNames.size(); ++way) {
    std::string line = fmt::format("| {}: {} | {} |", profile.name, kNames[way],
                                   rate(counts[way][0], options.gates));
    for (std::size_t effect = 1; effect < kEffects.size(); ++effect) {
      line += fmt::format(" {} |", rate(counts[way][effect], options.trials));
    }
    std::puts((line + " |").c_str());
  }
}

struct Tally {
  int gates = 0, blocked = 0, passed = 0, first_blocked = 0, first_passed = 0;
  double pairs = 0, first_pairs = 0;
};

Tally run_gates(const tests::NoiseProfile& profile, double effect, int count) {
  Tally tally;
  for (int i = 0; i < count; ++i) {
    const auto seed =
        static_cast<std::uint64_t>(i) * 1000 + static_cast<std::uint64_t>(effect * 1e4) + 1;
    const tests::SimulatedGate gate =
        tests::simulate_gate(profile, effect, kBenchmarks, kTolerance, seed);
    ++tally.gates;
    tally.blocked += gate.is_blocked ? 1 : 0;
    tally.passed += gate.is_passed ? 1 : 0;
    tally.first_blocked += gate.first == gates::Trend::regressed ? 1 : 0;
    tally.first_passed += gate.first == gates::Trend::passed ? 1 : 0;
    tally.pairs += gate.mean_pairs / count;
    tally.first_pairs += static_cast<double>(gate.first_pairs) / count;
  }
  return tally;
}

// Prints the row of the gate; false where it is worse than it must be.
bool print_gate(const tests::NoiseProfile& profile, const Options& options) {
  const Tally none = run_gates(profile, 0, options.gates);
  std::string line = fmt::format("| {}: the gate, margins 0.5 / 3 % | {} |", profile.name,
                                 rate(none.blocked, none.gates));
  std::string passes = fmt::format("gate passes {}, benchmark {}", rate(none.passed, none.gates),
                                   rate(none.first_passed, none.gates));
  bool is_good = none.blocked * 100 <= none.gates;
  double pairs_at_three = 0;
  for (const double effect : {0.01, 0.02, 0.03, 0.05, 0.10}) {
    const Tally tally = run_gates(profile, effect, options.trials);
    line += fmt::format(" {} |", rate(tally.first_blocked, tally.gates));
    passes += " / " + rate(tally.first_passed, tally.gates);
    if (effect < 0.03) continue;
    is_good = is_good && tally.first_passed * 20 <= tally.gates;
    if (effect > 0.03) continue;
    pairs_at_three = tally.first_pairs;
    const bool must_block = profile.name == "quiet" || profile.name == "shared";
    is_good = is_good && (!must_block || tally.first_blocked * 5 >= tally.gates * 4);
  }
  const gates::Proportion bound = gates::clopper_pearson(none.blocked, none.gates, 0.95);
  line += fmt::format(" {:.1f} · {:.0f} pairs; passes {}; A/A at most {:.1f} % at 95 % |",
                      none.pairs, pairs_at_three, passes, bound.high * 100);
  std::puts(line.c_str());
  return is_good;
}

void print_profile(const tests::NoiseProfile& profile) {
  std::mt19937_64 coin(7);
  std::vector<double> spreads;
  double square = 0;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    tests::NoiseSource source(profile, seed);
    const auto pairs = tests::simulate_pairs(source, 0, 96, coin);
    spreads.push_back(gates::PairedSample(pairs).spread());
    for (const double pair : pairs) {
      square += pair * pair;
      ++count;
    }
  }
  std::ranges::sort(spreads);
  std::puts(fmt::format("{}: pairs spread by {:.1f} % (robust), {:.1f} % (plain)", profile.name,
                        spreads[spreads.size() / 2] * 100, std::sqrt(square / count) * 100)
                .c_str());
}

bool simulate(const Options& options) {
  std::puts(fmt::format("simulated: {} gates of {} benchmarks in which nothing is slower; {} "
                        "gates for each slow-down of one of them\n",
                        options.gates, kBenchmarks, options.trials)
                .c_str());
  for (const tests::NoiseProfile& profile : tests::noise_profiles()) print_profile(profile);
  std::puts(
      "\nblocked, %\n| profile: way | A/A gates | +1 % | +2 % | +3 % | +5 % | +10 % | |\n"
      "|---|---|---|---|---|---|---|---|");
  bool is_good = true;
  for (const tests::NoiseProfile& profile : tests::noise_profiles()) {
    print_other_ways(profile, options);
    is_good = print_gate(profile, options) && is_good;
  }
  std::puts(is_good ? "\nsimulated: as it must be" : "\nsimulated: WORSE THAN IT MUST BE");
  return is_good;
}

bool read_options(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    const auto number = [&](int& into) {
      if (i + 1 >= count) return false;
      into = std::atoi(arguments[++i]);
      return into > 0;
    };
    bool is_good = true;
    if (word == "--gates") {
      is_good = number(options.gates);
    } else if (word == "--trials") {
      is_good = number(options.trials);
    } else if (word == "--live-gates") {
      is_good = number(options.live.gates);
    } else if (word == "--seconds") {
      is_good = number(options.live.seconds);
    } else if (word == "simulate") {
      options.runs_live = false;
    } else if (word == "live") {
      options.simulates = false;
    } else {
      is_good = false;
    }
    if (!is_good) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!read_options(count, arguments, options)) {
    std::fputs(
        "gates_bench [--gates N] [--trials N] [--live-gates N] [--seconds N] [simulate|live]\n",
        stderr);
    return 2;
  }
  bool is_good = true;
  if (options.simulates) is_good = simulate(options);
  if (options.runs_live) is_good = tests::measure_live(options.live) && is_good;
  return is_good ? 0 : 1;
}
