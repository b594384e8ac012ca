#include "tests/bench/series.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "sandbox/os/files.h"

namespace bench {
namespace {

double quantile_of(std::vector<double> times, double quantile) {
  if (times.empty()) return std::nan("");
  std::ranges::sort(times);
  return times[static_cast<std::size_t>(quantile * static_cast<double>(times.size() - 1))];
}

}  // namespace

double Series::at(double quantile) const { return quantile_of(times, quantile); }

double Series::median_of(int run, int runs) const {
  const auto length = static_cast<std::ptrdiff_t>(times.size()) / runs;
  const auto begin = times.begin() + run * length;
  return quantile_of({begin, begin + length}, 0.5);
}

void print_table(const std::vector<Series>& all, int runs) {
  std::printf("%-18s %9s %9s %9s  %-22s %s\n", "", "p50 ms", "p99 ms", "min ms",
              "x posix_spawn (runs)", "isolates");
  const Series& plain = all.front();
  for (const Series& series : all) {
    if (!series.absent.empty()) {
      std::printf("%-18s absent: %s\n", series.name.c_str(), series.absent.c_str());
      continue;
    }
    std::vector<double> ratios;
    for (int run = 0; run < runs; ++run)
      ratios.push_back(series.median_of(run, runs) / plain.median_of(run, runs));
    const auto [least, most] = std::ranges::minmax(ratios);
    std::printf(
        "%-18s %9.3f %9.3f %9.3f  %-22s %s\n", series.name.c_str(), series.at(0.5) / 1000,
        series.at(0.99) / 1000, series.at(0) / 1000,
        fmt::format("{:.2f} ({:.2f} to {:.2f})", series.at(0.5) / plain.at(0.5), least, most)
            .c_str(),
        series.isolates.c_str());
  }
}

os::Result<void> write_json(const std::vector<Series>& all, const std::string& path) {
  std::string rows;
  for (const Series& series : all) {
    if (!series.absent.empty()) continue;
    rows += fmt::format(R"({}{{"name":"{}","p50_us":{:.0f},"p99_us":{:.0f},"min_us":{:.0f}}})",
                        rows.empty() ? "" : ",", series.name, series.at(0.5), series.at(0.99),
                        series.at(0));
  }
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  return os::write_file_durably(path, "{\"rows\":[" + rows + "]}\n", 0644);
}

}  // namespace bench
