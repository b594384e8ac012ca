#include "gates/benchmark_samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gates/benchmark_rows.h"
#include "gates/sequential_test.h"
#include "gates/statistics.h"
#include "gates/text.h"
#include "gates/verdict.h"

namespace gates {

namespace {

// A share of accounted CPU time that drifts so far from the base's is odd, and said.
constexpr double kOddCpuShare = 0.15;
// Iterations are chosen by time, so their product stays where it is; three times more is odd.
constexpr double kOddWork = 3.0;
// A load average is no fault of a pair; over this many milli-units it is said.
constexpr std::int64_t kHighLoad = 4000;

double logarithm(std::int64_t number) { return std::log(static_cast<double>(number)); }

PairedSample sample_of(const std::vector<double>& values) {
  const std::span<const double> all = values;
  return PairedSample(all.first(std::min<std::size_t>(values.size(), kMaxPairs)));
}

}  // namespace

std::optional<SampleProblem> PairSamples::check(const MeasuredPair& pair,
                                                const std::set<std::string>& only) {
  if (names_.empty()) {
    for (const auto& [name, figure] : pair.base.benchmarks) {
      names_.push_back(name);
      series_[name];
    }
  }
  const auto is_known = [&](const auto& entry) { return series_.contains(entry.first); };
  const auto is_measured = [&](const std::string& name) {
    return pair.base.benchmarks.contains(name) || (!only.empty() && !only.contains(name));
  };
  if (!std::ranges::all_of(pair.base.benchmarks, is_known) ||
      !std::ranges::all_of(names_, is_measured)) {
    return SampleProblem{
        true, {FailureClass::base, "on the base: the benchmarks differ from run to run", {}}};
  }
  if (auto problem = compare_names(pair.base, pair.other)) {
    return SampleProblem{false, *std::move(problem)};
  }
  return std::nullopt;
}

std::optional<SampleProblem> PairSamples::take(const MeasuredPair& pair,
                                               const std::set<std::string>& only) {
  if (auto problem = check(pair, only)) return problem;
  ++pairs_;
  double sum = 0;
  for (const auto& [name, figure] : pair.base.benchmarks) {
    const BenchmarkFigure& compared = pair.other.benchmarks.at(name);
    const double difference = logarithm(compared.picoseconds) - logarithm(figure.picoseconds);
    sum += difference;
    if (only.empty() || only.contains(name)) series_[name].push_back(difference);
    work_[name].push_back(difference + logarithm(compared.iterations) -
                          logarithm(figure.iterations));
  }
  is_geometric_complete_ = is_geometric_complete_ && pair.base.benchmarks.size() == names_.size();
  if (is_geometric_complete_) geometric_.push_back(sum / static_cast<double>(names_.size()));
  for (const auto& [name, figure] : pair.other.benchmarks) {
    if (!series_.contains(name)) new_names_.insert(name);
  }
  // New benchmarks add to what is accounted for; then the shares say nothing.
  if (pair.base.cpu_share && pair.other.cpu_share && new_names_.empty()) {
    cpu_shares_.push_back(std::log(*pair.other.cpu_share) - std::log(*pair.base.cpu_share));
  }
  most_base_processes_ = std::max(most_base_processes_, pair.base.processes);
  least_other_processes_ =
      pairs_ == 1 ? pair.other.processes : std::min(least_other_processes_, pair.other.processes);
  for (const auto& [name, figure] : pair.disturbances) {
    if (figure <= (name == "load_milli" ? kHighLoad : 0)) continue;
    auto& [count, most] = disturbed_[name];
    ++count;
    most = std::max(most, figure);
  }
  return std::nullopt;
}

std::vector<std::span<const double>> PairSamples::series() const {
  std::vector<std::span<const double>> all;
  for (const std::string& name : names_) all.emplace_back(series_.at(name));
  return all;
}

std::span<const double> PairSamples::series_of(const std::string& name) const {
  const auto found = series_.find(name);
  if (found == series_.end()) return {};
  return found->second;
}

std::vector<Reason> PairSamples::notes(const std::string& step, const std::string& run) const {
  std::vector<Reason> notes;
  note_names(run, notes);
  note_iterations(run, notes);
  note_shares(step, run, notes);
  if (least_other_processes_ > most_base_processes_ && most_base_processes_ > 0) {
    notes.push_back(
        {fmt::format("odd: the process always had {} at a time, on the base at most {}",
                     counted(least_other_processes_, "thread"), most_base_processes_),
         step,
         run,
         {{"threads", least_other_processes_}, {"threads_base", most_base_processes_}}});
  }
  note_disturbances(step, notes);
  return notes;
}

void PairSamples::note_names(const std::string& run, std::vector<Reason>& notes) const {
  for (const std::string& name : new_names_) {
    notes.push_back({one_line(name, 200) + " is new: the base does not have it, it is not compared",
                     name,
                     run,
                     {}});
  }
}

void PairSamples::note_iterations(const std::string& run, std::vector<Reason>& notes) const {
  for (const auto& [name, work] : work_) {
    if (work.size() < static_cast<std::size_t>(kLooks.front())) continue;
    const double ratio = std::exp(sample_of(work).estimate());
    if (ratio <= kOddWork && ratio >= 1 / kOddWork) continue;
    notes.push_back({fmt::format("odd: {} was measured over {:.2f}x the time of the base",
                                 one_line(name, 200), ratio),
                     name,
                     run,
                     {{"ratio_ppm", millionths(ratio)}}});
  }
}

void PairSamples::note_shares(const std::string& step, const std::string& run,
                              std::vector<Reason>& notes) const {
  if (cpu_shares_.size() < static_cast<std::size_t>(kLooks.front())) return;
  constexpr double kLevel = kPassError / static_cast<double>(kLooks.size());
  const PairedSample sample = sample_of(cpu_shares_);
  const double low = sample.lower(kLevel);
  const double high = sample.upper(kLevel);
  if (low <= std::log1p(kOddCpuShare) && high >= -std::log1p(kOddCpuShare)) return;
  const double ratio = std::exp(sample.estimate());
  notes.push_back(
      {fmt::format("odd: the rows account for {:.2f}x the share of the process's CPU time that "
                   "they account for on the base",
                   ratio),
       step,
       run,
       {{"ratio_ppm", millionths(ratio)},
        {"low_ppm", millionths(std::exp(low))},
        {"high_ppm", millionths(std::exp(high))}}});
}

void PairSamples::note_disturbances(const std::string& step, std::vector<Reason>& notes) const {
  if (disturbed_.empty()) return;
  std::string text = "disturbed (and counted all the same):";
  std::map<std::string, std::int64_t> figures{{"pairs", pairs_}};
  for (const auto& [name, entry] : disturbed_) {
    text += fmt::format("{} {} in {} of {} pairs, at most {}", figures.size() > 1 ? ";" : "", name,
                        entry.first, pairs_, entry.second);
    figures[name + "_pairs"] = entry.first;
    figures[name + "_most"] = entry.second;
  }
  notes.push_back({std::move(text), step, {}, std::move(figures)});
}

}  // namespace gates
