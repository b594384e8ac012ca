#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gates/sequential_test.h"

// Benchmarks that never ran: times of processes with the noise of real machines, for finding out
// how often a gate errs.
namespace tests {

// Noise of one benchmark's time, all as shares of it. The log time of a process is the sum of
// white noise, an autocorrelated part, bursts that last for some processes (Markov, exponential in
// height), a slow sinusoid, and one of two modes that a process falls into (address layout).
struct NoiseProfile {
  std::string name;
  double white = 0;         // standard deviation, from process to process
  double correlated = 0;    // standard deviation of the AR(1) part
  double correlation = 0;   // of neighbouring processes
  double burst_start = 0;   // probability that a burst begins with a process
  double burst_stay = 0;    // that it goes on
  double burst_height = 0;  // mean
  double drift = 0;         // amplitude of the sinusoid
  double period = 100;      // of it, in processes
  double mode = 0;          // height of the second mode
  double mode_chance = 0;
  double within = 0;  // standard deviation between repetitions of one process
};

// Pairs of the three have a robust standard deviation of about 1.0 %, 4.0 % and 12.8 %, and a plain
// one of about 1, 11 and 43 %: around what was measured on small virtual machines.
const std::array<NoiseProfile, 3>& noise_profiles();

// Log times of one benchmark in processes that run one after the other.
class NoiseSource {
 public:
  NoiseSource(const NoiseProfile& profile, std::uint64_t seed);
  double next_process();
  // Log times of repetitions within one process: what they share is drawn once.
  std::vector<double> repetitions(int count);

 private:
  double normal(double deviation);
  double uniform();
  const NoiseProfile& profile_;
  std::mt19937_64 random_;
  double correlated_ = 0;
  bool in_burst_ = false;
  double phase_ = 0;
};

// Log ratios of adjacent pairs in random order, the second arm slower by `effect`; each pair's.
std::vector<double> simulate_pairs(NoiseSource& source, double effect, int pairs,
                                   std::mt19937_64& coin);

// How a gate of many benchmarks ended.
struct SimulatedGate {
  bool is_blocked = false;
  bool is_passed = false;
  gates::Trend first = gates::Trend::undecided;  // of the first benchmark: the one that is slower
  double mean_pairs = 0;                         // over the benchmarks
  int first_pairs = 0;
};

// One gate of `benchmarks` series, the first slower by `effect`; undecided ones get more pairs.
// `tolerance`: 3 % is margins 0.5 and 3 %.
SimulatedGate simulate_gate(const NoiseProfile& profile, double effect, std::size_t benchmarks,
                            tasks::Share tolerance, std::uint64_t seed);

// What other ways would say of the same kind of samples: is "other" called slower?
struct OtherWays {
  bool threshold = false;      // means of ten interleaved processes differ by over 5 %
  bool compare_py = false;     // U test, one process of ten repetitions a side, p < .05
  bool u_interleaved = false;  // U test, ten interleaved processes a side
  bool benchstat = false;      // U test, twenty interleaved processes a side
  bool welch = false;          // Welch's t test of ten interleaved processes, p < .05
};
OtherWays simulate_other_ways(const NoiseProfile& profile, double effect, std::uint64_t seed);

// Two-sided p-value of the Mann–Whitney U test (normal approximation with continuity correction
// and ties, as scipy's for more than eight values) and of Welch's t test.
double mann_whitney(std::span<const double> left, std::span<const double> right);
double welch(std::span<const double> left, std::span<const double> right);

}  // namespace tests
