#include "tests/bench/gates_live.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gates/sequential_test.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "sandbox/os/process.h"
#include "tasks/pair_conditions.h"
#include "tasks/reports/report.h"
#include "tests/support/programs.h"

namespace tests {

namespace {

using std::chrono::steady_clock;

constexpr tasks::Share kTolerance{50'000};
constexpr double kWidestSpread = 0.04;

struct Subject {
  const char* program;
  double more;  // work than the base
};
constexpr std::array kSubjects{Subject{"gate_subject_same", 0.0}, Subject{"gate_subject_5", 0.05},
                               Subject{"gate_subject_10", 0.10}};
constexpr const char* kBase = "gate_subject_base";

std::string subject_path(const std::string& name) { return guest_path(name).string(); }

// Runs a program to its end, its output left out; false if it failed.
bool run_program(const std::string& program, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& environment) {
  const auto nowhere = os::open_file("/dev/null", O_WRONLY);
  if (!nowhere) return false;
  auto child = os::ChildProcess::spawn({.program = program,
                                        .arguments = arguments,
                                        .environment = environment,
                                        .directory = {},
                                        .standard_output = nowhere->get(),
                                        .standard_error = nowhere->get(),
                                        .descriptors = {},
                                        .uid = {},
                                        .gid = {}});
  if (!child) return false;
  const auto status = child->wait();
  return status && status->is_success();
}

// Instructions of so many runs of the kernel; nothing without valgrind.
std::optional<std::int64_t> count_instructions(const std::string& name, const std::string& times,
                                               const os::TempDir& place) {
  const std::string log = place / "callgrind.log";
  const bool ran = run_program("/usr/bin/valgrind",
                               {"--tool=callgrind", "--callgrind-out-file=/dev/null",
                                "--log-file=" + log, subject_path(name), "--count", times},
                               {"PATH=/usr/bin:/bin"});
  const auto text = os::read_file(log);
  if (!ran || !text) return std::nullopt;
  constexpr std::string_view kWord = "Collected : ";
  const std::size_t at = text->find(kWord);
  if (at == std::string::npos) return std::nullopt;
  return std::strtoll(text->c_str() + at + kWord.size(), nullptr, 10);
}

// The work of one run of the kernel, start-up taken off.
std::optional<double> kernel_instructions(const std::string& name, const os::TempDir& place) {
  const auto few = count_instructions(name, "0", place);
  const auto many = count_instructions(name, "20", place);
  if (!few || !many) return std::nullopt;
  return static_cast<double>(*many - *few) / 20;
}

// True where the subjects do as much more work as they say, within a tenth of a percent.
bool verify_work(const os::TempDir& place) {
  const auto base = kernel_instructions(kBase, place);
  if (!base) {
    std::puts("instructions not counted: valgrind is missing or failed (apt-get install valgrind)");
    return true;
  }
  bool is_right = true;
  for (const Subject& subject : kSubjects) {
    const auto counted = kernel_instructions(subject.program, place);
    if (!counted) return false;
    const double ratio = *counted / *base;
    is_right = is_right && std::abs(ratio - 1 - subject.more) < 1e-3;
    std::puts(fmt::format("{}: {:.0f} instructions a run, {:.4f}x the base", subject.program,
                          *counted, ratio)
                  .c_str());
  }
  return is_right;
}

// The least time of each benchmark in one process; empty if it failed.
std::map<std::string, std::int64_t> measure(const std::string& name,
                                            const std::vector<std::string>& only,
                                            const std::string& report) {
  std::map<std::string, std::string> conditions;
  tasks::set_conditions({tasks::Side::base, tasks::Side::base, tasks::StepName("live"), 0}, only,
                        conditions);
  std::vector<std::string> environment{"PATH=/usr/bin:/bin"};
  for (const auto& [key, value] : conditions) environment.push_back(key + "=" + value);
  std::map<std::string, std::int64_t> least;
  if (!run_program(subject_path(name),
                   {"--benchmark_repetitions=6", "--benchmark_min_time=0.01",
                    "--benchmark_out=" + report, "--benchmark_out_format=json"},
                   environment)) {
    return least;
  }
  const auto bytes = os::read_file(report);
  if (!bytes) return least;
  const tasks::ParsedReport parsed =
      tasks::read_report(tasks::ReportFormat::google_benchmark, *bytes);
  for (const tasks::BenchRow& row : parsed.bench.rows) {
    const auto [place, is_new] = least.try_emplace(row.name, row.picoseconds);
    if (!is_new) place->second = std::min(place->second, row.picoseconds);
  }
  return least;
}

struct LiveGate {
  bool is_blocked = false;
  bool is_passed = false;
  double spread = 0;
  double detectable = 0;
  int pairs = 0;
};

class LiveRun {
 public:
  LiveRun(const Subject& subject, const os::TempDir& place, int seconds)
      : subject_(subject),
        report_(place / "bench.json"),
        end_(steady_clock::now() + std::chrono::seconds(seconds)),
        test_({.margins = gates::margins_of(kTolerance), .max_spread = kWidestSpread}, 2) {}

  std::optional<LiveGate> run() {
    for (const int pairs : gates::kLooks) {
      while (taken_ < pairs && steady_clock::now() < end_) {
        if (!take_pair()) return std::nullopt;
      }
      if (taken_ < pairs) break;
      test_.look(pairs, std::vector<std::span<const double>>(series_.begin(), series_.end()),
                 mean_);
      if (test_.has_regressed() || test_.is_all_passed()) break;
      only_.clear();
      for (std::size_t i = 0; i < kNames.size(); ++i) {
        if (test_.results()[i].trend == gates::Trend::undecided) only_.emplace_back(kNames[i]);
      }
    }
    LiveGate gate{test_.has_regressed(), test_.is_all_passed(), 0, 0, taken_};
    for (const gates::TrendResult& result : test_.results()) {
      gate.spread = std::max(gate.spread, result.spread);
      gate.detectable = std::max(gate.detectable, result.detectable);
    }
    return gate;
  }

 private:
  static constexpr std::array kNames{"BM_Chain", "BM_Sum"};

  bool take_pair() {
    const bool is_swapped = (os::random_bytes(1)[0] & 1) != 0;
    const auto first = measure(is_swapped ? subject_.program : kBase, only_, report_);
    const auto second = measure(is_swapped ? kBase : subject_.program, only_, report_);
    const auto& base = is_swapped ? second : first;
    const auto& other = is_swapped ? first : second;
    double sum = 0;
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const auto left = base.find(kNames[i]);
      const auto right = other.find(kNames[i]);
      if (left == base.end() || right == other.end()) {
        if (only_.empty() || std::ranges::find(only_, kNames[i]) != only_.end()) return false;
        continue;
      }
      series_[i].push_back(std::log(static_cast<double>(right->second)) -
                           std::log(static_cast<double>(left->second)));
      sum += series_[i].back() / static_cast<double>(kNames.size());
    }
    if (only_.empty() || only_.size() == kNames.size()) mean_.push_back(sum);
    ++taken_;
    return true;
  }

  const Subject& subject_;
  std::string report_;
  steady_clock::time_point end_;
  gates::SequentialTest test_;
  std::array<std::vector<double>, 2> series_;
  std::vector<double> mean_;
  std::vector<std::string> only_;
  int taken_ = 0;
};

struct LiveTally {
  int calm = 0, blocked = 0, passed = 0, wide = 0, wide_decided = 0;
};

// Pins this program and all that it starts to the last CPU that it may use.
void pin_to_one_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    return;
  }
}

// False where the gates on this subject erred too often.
bool measure_subject(const Subject& subject, const os::TempDir& place, const LiveOptions& options) {
  LiveTally tally;
  for (int i = 0; i < options.gates; ++i) {
    const auto gate = LiveRun(subject, place, options.seconds).run();
    if (!gate) {
      std::puts("live: a subject failed");
      return false;
    }
    const bool is_wide = gate->spread > kWidestSpread;
    const bool is_decided = gate->is_blocked || gate->is_passed;
    tally.wide += is_wide ? 1 : 0;
    tally.wide_decided += is_wide && gate->is_passed ? 1 : 0;
    tally.calm += is_wide ? 0 : 1;
    tally.blocked += !is_wide && gate->is_blocked ? 1 : 0;
    tally.passed += !is_wide && gate->is_passed ? 1 : 0;
    std::puts(fmt::format("+{:.0f} %: {}, {} pairs, spread {:.1f} %, smallest found {:.1f} %{}",
                          subject.more * 100,
                          gate->is_blocked  ? "blocked"
                          : gate->is_passed ? "passed"
                                            : "inconclusive",
                          gate->pairs, gate->spread * 100, gate->detectable * 100,
                          is_wide && !is_decided ? ": too wide to tell" : "")
                  .c_str());
    std::fflush(stdout);
  }
  std::puts(fmt::format("live +{:.0f} %: of {} gates with a spread of at most 4 %: {} blocked, {} "
                        "passed; of {} wider ones {} passed",
                        subject.more * 100, tally.calm, tally.blocked, tally.passed, tally.wide,
                        tally.wide_decided)
                .c_str());
  // 20 gates: +10 % blocked in at least 19, +5 % passed in at most 1, A/A blocked in none.
  if (tally.wide_decided > 0) return false;
  if (subject.more >= 0.10) return tally.calm - tally.blocked <= (tally.calm + 19) / 20;
  if (subject.more >= 0.05) return tally.passed <= (tally.calm + 19) / 20;
  return tally.blocked == 0;
}

}  // namespace

bool measure_live(const LiveOptions& options) {
  const auto place = os::TempDir::create();
  if (!place) return false;
  std::puts(fmt::format("\nlive: tolerance 5 %, at most {} pairs and {} s a gate, {} gates each",
                        gates::kLooks.back(), options.seconds, options.gates)
                .c_str());
  bool is_good = verify_work(*place);
  pin_to_one_cpu();
  for (const Subject& subject : kSubjects) {
    is_good = measure_subject(subject, *place, options) && is_good;
  }
  std::puts(is_good ? "live: as it must be" : "live: WORSE THAN IT MUST BE");
  return is_good;
}

}  // namespace tests
