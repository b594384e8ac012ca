// PairSamples: what the pairs of a benchmark gate measured, as series of log ratios, whatever clock
// the figures come from; and what is odd about them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gates/benchmark_rows.h"
#include "gates/verdict.h"

namespace gates {

// Two processes that ran one after the other.
struct MeasuredPair {
  const ProcessFigures& base;
  const ProcessFigures& other;
  // Of both runs together (see tasks::RunRecord).
  const std::map<std::string, std::int64_t>& disturbances;
};

// Which side a problem of a pair is to be blamed on.
struct SampleProblem {
  bool is_of_base = false;
  RowProblem problem;
};

class PairSamples {
 public:
  // Checks a pair without taking its figures (of a warm-up), or takes them. `only` are the
  // benchmarks that had to be measured; empty: all. The first pair tells which names there are. A
  // problem: a name is missing, on the base the names differ from those of the first pair, or
  // compare_names finds one.
  std::optional<SampleProblem> check(const MeasuredPair& pair, const std::set<std::string>& only);
  std::optional<SampleProblem> take(const MeasuredPair& pair, const std::set<std::string>& only);

  // In the order of their names.
  const std::vector<std::string>& names() const { return names_; }
  // The series of each name, in that order; a name that was left out has a shorter one.
  std::vector<std::span<const double>> series() const;
  std::span<const double> series_of(const std::string& name) const;
  // The mean of all series, for the pairs from the first on that measured every name.
  std::span<const double> geometric() const { return geometric_; }

  // What is odd and no reason to fail: new names, iterations or shares of CPU time or threads that
  // do not fit the base's, pairs that the machine disturbed. `step` and `run` are for the reasons.
  std::vector<Reason> notes(const std::string& step, const std::string& run) const;

 private:
  void note_names(const std::string& run, std::vector<Reason>& notes) const;
  void note_iterations(const std::string& run, std::vector<Reason>& notes) const;
  void note_shares(const std::string& step, const std::string& run,
                   std::vector<Reason>& notes) const;
  void note_disturbances(const std::string& step, std::vector<Reason>& notes) const;

  std::vector<std::string> names_;
  std::map<std::string, std::vector<double>> series_;
  std::vector<double> geometric_;
  bool is_geometric_complete_ = true;
  std::vector<double> cpu_shares_;  // ln of other's over base's
  std::set<std::string> new_names_;
  // ln of (iterations x time) of other over base, by name.
  std::map<std::string, std::vector<double>> work_;
  std::int64_t most_base_processes_ = 0;
  std::int64_t least_other_processes_ = 0;
  std::int64_t pairs_ = 0;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> disturbed_;  // name: pairs, most
};

}  // namespace gates
