// Series: times of one way to do something, and tables of them.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sandbox/os/result.h"

namespace bench {

// Times in microseconds, in the order in which they were taken: `runs` equal parts.
struct Series {
  std::string name;
  std::string isolates;  // what it keeps apart, in words
  std::string absent;    // why there are no times; empty: there are
  std::vector<double> times;

  // 0 <= quantile <= 1, over all or over part `run` of `runs`.
  double at(double quantile) const;
  double median_of(int run, int runs) const;
};

// Runs `action` and adds the time it took.
template <class Action>
os::Result<void> measure(Series& series, const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  TRY(action());
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  series.times.push_back(took.count());
  return {};
}

// One line for each: p50, p99, min and the ratio of the medians to the first one's, with the least
// and the greatest ratio of the runs.
void print_table(const std::vector<Series>& all, int runs);

// {rows:[{name,p50_us,p99_us,min_us}]}, whole numbers. The file's directory is made.
os::Result<void> write_json(const std::vector<Series>& all, const std::string& path);

}  // namespace bench
