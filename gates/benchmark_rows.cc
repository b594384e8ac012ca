#include "gates/benchmark_rows.h"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gates/runs.h"
#include "gates/text.h"
#include "gates/verdict.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"
#include "tasks/reports/report.h"

namespace gates {

namespace {

using tasks::BenchClock;
using tasks::BenchRow;

constexpr double kMostCpuShare = 1.05;
constexpr double kCpuSlackSeconds = 0.020;
constexpr double kPicosecondsPerSecond = 1e12;
// One iteration that is shorter cannot be timed: reading the clock takes tens of nanoseconds.
constexpr std::int64_t kLeastSingle = 1'000'000;
// Below this the resolution of the counters drowns the share.
constexpr double kLeastCpuSeconds = 0.050;

std::string_view clock_name(BenchClock clock) {
  switch (clock) {
    case BenchClock::cpu:
      return "CPU time";
    case BenchClock::real:
      return "real time";
    case BenchClock::manual:
      return "manual time";
  }
  return "unknown";
}

// CPU time of threads is accounted for differently by different releases of the library.
bool has_threads(std::string_view name) {
  constexpr std::string_view kThreads = "/threads:";
  const auto at = name.find(kThreads);
  return at != std::string_view::npos && name.substr(at + kThreads.size()) != "1";
}

std::unexpected<RowProblem> problem(std::string text, std::string where,
                                    FailureClass failure = FailureClass::benchmark) {
  return std::unexpected(RowProblem{failure, std::move(text), std::move(where)});
}

class RowReader {
 public:
  std::expected<void, RowProblem> add(const BenchRow& row) {
    const std::string name = one_line(row.name, 200);
    if (!row.error.empty()) {
      return problem(fmt::format("{} gave no figure: {}", name, one_line(row.error)), row.name);
    }
    if (row.picoseconds <= 0) {
      return problem(fmt::format("{} reports a time of {} ps", name, row.picoseconds), row.name);
    }
    if (row.iterations <= 0) {
      return problem(fmt::format("{} reports {} iterations", name, row.iterations), row.name);
    }
    if (row.iterations == 1 && row.picoseconds < kLeastSingle) {
      return problem(fmt::format("{} reports {} ps from a single iteration: no clock can tell that",
                                 name, row.picoseconds),
                     row.name);
    }
    if (!seen_.emplace(row.name, row.repetition).second) {
      return problem(fmt::format("{} stands twice in the report", name), row.name);
    }
    BenchmarkFigure& figure = figures_.benchmarks[row.name];
    if (figure.repetitions > 0 && figure.clock != row.clock) {
      return problem(fmt::format("{} is measured by two clocks", name), row.name);
    }
    if (figure.repetitions == 0 || row.picoseconds < figure.picoseconds) {
      figure.picoseconds = row.picoseconds;
      figure.iterations = row.iterations;
    }
    figure.clock = row.clock;
    ++figure.repetitions;
    const double seconds = static_cast<double>(row.picoseconds) *
                           static_cast<double>(row.iterations) / kPicosecondsPerSecond;
    if (row.clock == BenchClock::cpu && !has_threads(row.name)) {
      cpu_seconds_ += seconds;
    } else {
      has_other_clocks_ = true;
      // Threads of one benchmark run at the same time.
      if (!has_threads(row.name)) wall_seconds_ += seconds;
    }
    return {};
  }

  std::expected<ProcessFigures, RowProblem> finish(const tasks::Step& step,
                                                   const sandbox::Usage& usage) {
    const std::string& name = step.name.str();
    if (figures_.benchmarks.empty()) {
      return problem(name + " reports no benchmark", name, FailureClass::report);
    }
    const double lasted = static_cast<double>(usage.wall_ms) / 1e3;
    if (wall_seconds_ > kMostCpuShare * lasted + kCpuSlackSeconds) {
      return problem(fmt::format("{} reports {:.0f} ms of real time, but the process lasted "
                                 "{:.0f} ms",
                                 name, wall_seconds_ * 1e3, lasted * 1e3),
                     name);
    }
    figures_.processes = usage.pids_peak;
    const double used = static_cast<double>(usage.user_ms + usage.sys_ms) / 1e3;
    if (cpu_seconds_ > kMostCpuShare * used + kCpuSlackSeconds) {
      return problem(fmt::format("{} reports {:.0f} ms of CPU time, but the process used {:.0f} ms",
                                 name, cpu_seconds_ * 1e3, used * 1e3),
                     name);
    }
    if (!has_other_clocks_ && used >= kLeastCpuSeconds && cpu_seconds_ > 0) {
      figures_.cpu_share = cpu_seconds_ / used;
    }
    return std::move(figures_);
  }

 private:
  ProcessFigures figures_;
  std::set<std::pair<std::string, std::int64_t>> seen_;
  double cpu_seconds_ = 0;
  double wall_seconds_ = 0;  // of rows by other clocks
  bool has_other_clocks_ = false;
};

std::optional<RowProblem> ending_problem(const tasks::Step& step, const tasks::RunRecord& record) {
  const auto because = [&](FailureClass failure) {
    return RowProblem{failure, describe_fault(step, record), step.name.str()};
  };
  switch (fault_of(step, record)) {
    case Fault::none:
      return std::nullopt;
    case Fault::exit:
    case Fault::crash:
      return because(FailureClass::benchmark);
    case Fault::limit:
      return because(FailureClass::limit);
    case Fault::output:
      return because(FailureClass::report);
    case Fault::machine:
      return because(FailureClass::infra);
  }
  return std::nullopt;
}

}  // namespace

std::expected<ProcessFigures, RowProblem> read_figures(const tasks::Step& step,
                                                       const tasks::RunRecord& record) {
  if (auto ending = ending_problem(step, record)) return std::unexpected(*std::move(ending));
  RowReader reader;
  for (const tasks::ReportSpec& spec : step.reports) {
    if (tasks::report_kind(spec.format) != tasks::ReportKind::benchmark) continue;
    const auto report = std::ranges::find_if(record.reports, [&spec](const auto& candidate) {
      return candidate.format == spec.format && candidate.path == spec.path;
    });
    std::string why;
    if (report == record.reports.end()) {
      why = "missing";
    } else {
      why = report->error.empty() ? report->parsed.error : report->error;
    }
    if (!why.empty()) {
      return problem(fmt::format("{} left no readable report {}: {}", step.name.str(), spec.path,
                                 one_line(why)),
                     step.name.str(), FailureClass::report);
    }
    for (const BenchRow& row : report->parsed.bench.rows) {
      if (auto added = reader.add(row); !added) return std::unexpected(std::move(added).error());
    }
  }
  return reader.finish(step, record.usage);
}

std::optional<RowProblem> compare_names(const ProcessFigures& base, const ProcessFigures& other) {
  for (const auto& [name, figure] : base.benchmarks) {
    const auto found = other.benchmarks.find(name);
    const std::string shown = one_line(name, 200);
    std::string text;
    if (found == other.benchmarks.end()) {
      text = shown + " is gone: the base has it";
    } else if (found->second.clock != figure.clock) {
      text = fmt::format("{} is measured by {}, on the base by {}", shown,
                         clock_name(found->second.clock), clock_name(figure.clock));
    } else if (found->second.repetitions != figure.repetitions) {
      text = fmt::format("{} has {}, on the base {}", shown,
                         counted(found->second.repetitions, "repetition"), figure.repetitions);
    }
    if (!text.empty()) return RowProblem{FailureClass::benchmark, text, name};
  }
  return std::nullopt;
}

}  // namespace gates
