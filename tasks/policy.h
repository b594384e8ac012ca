// Policy: what `proofhouse.yaml` says, checked and resolved. Values only; read by policy_yaml.h,
// stored canonically by policy_json.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/limits.h"
#include "tasks/ids.h"
#include "tasks/tolerance.h"

namespace tasks {

inline constexpr std::string_view kPolicyFile = "proofhouse.yaml";

// A share in millionths: 5% is 50,000.
struct Share {
  std::int64_t millionths = 0;
  auto operator<=>(const Share&) const = default;
};

enum class ReportFormat : std::uint8_t {
  gtest_json,
  ctest_junit,
  tap,
  google_benchmark,
  gtest_xml,
  pytest_junit,
  catch2_junit,
  nextest_junit,
  go_test,
  criterion,
  metrics,
  npy,
  safetensors
};
// The key in the policy and the KIND of `reader`: gtest-json, ctest-junit, tap, google-benchmark,
// gtest-xml, pytest, catch2, nextest, go-test, criterion, metrics, npy, safetensors.
std::string_view report_format_name(ReportFormat format);
// What a format's files hold: test cases, rows of benchmarks, figures, or arrays. Gates judge the
// first two; the others are evidence to be shown.
enum class ReportKind : std::uint8_t { tests, benchmark, metrics, arrays };
ReportKind report_kind(ReportFormat format);
os::Result<ReportFormat> parse_report_format(std::string_view name);

struct ReportSpec {
  ReportFormat format = ReportFormat::gtest_json;
  std::string path;  // relative to /workspace
  bool operator==(const ReportSpec&) const = default;
};

// "build" (same side: order) or "gen.in" (another domain's output at /needs/gen.in).
struct Need {
  StepName step;
  std::string output;  // empty: order only
  bool operator==(const Need&) const = default;
};

// How long the steps of one attempt may wait for GPUs in all. Such waiting is no part of any limit.
inline constexpr std::chrono::milliseconds kMostGpuWait{std::chrono::hours(1)};

struct GpuSpec {
  int count = 1;
  os::Bytes min_memory;
  bool exclusive = false;
  bool operator==(const GpuSpec&) const = default;
};

// How often a step's measured function is called: `fewer` and `more` calls, whose difference is
// what an outside clock measures. $PROOFHOUSE_CALLS is `more` in every run but the short ones of a
// pair.
struct CallCounts {
  int fewer = 0;
  int more = 0;
  bool operator==(const CallCounts&) const = default;
};

struct Step {
  StepName name;
  std::string run;         // for sh -euc
  bool from_base = false;  // runs the base's code in the judge's domain
  std::vector<Need> needs;
  std::vector<ReportSpec> reports;
  std::map<std::string, std::string> outputs;  // name -> path below /workspace ("in/": directory)
  std::map<std::string, std::string> environment;
  sandbox::Limits limits;  // the policy's, with the step's own in place of them
  std::optional<GpuSpec> gpu;
  std::optional<CallCounts> calls;
  // Runs only beside the one `from: base` step that needs it, joined to it by two pipes: what
  // either prints the other reads.
  bool interact = false;
  bool operator==(const Step&) const = default;
};

enum class GateKind : std::uint8_t { tests, benchmark, diff, determinism, parity };
std::string_view gate_kind_name(GateKind kind);

// What a gate that ended inconclusive means.
enum class Inconclusive : std::uint8_t { block, ask, pass };

// What a benchmark gate takes its figures from: the step's own report (in-process), or the jail's
// counters of CPU time or wall time, read from outside.
enum class GateClock : std::uint8_t { report, outside_cpu, outside_wall };
std::string_view gate_clock_name(GateClock clock);  // "report", "outside-cpu", "outside-wall"

struct Gate {
  GateName name;
  GateKind kind = GateKind::tests;
  // tests: one or more; benchmark, determinism, parity: exactly one; diff: none
  std::vector<StepName> steps;
  bool always = false;  // judged even after a failed gate
  // tests: how often a step in which a test failed is run again, on each side, to tell a test that
  // fails from one that is flaky
  int reruns = 0;
  // benchmark
  Share tolerance{50'000};  // upper margin; the lower margin is a sixth of it
  GateClock clock = GateClock::report;
  Inconclusive inconclusive = Inconclusive::ask;
  bool accept_mde = false;          // may pass where a slow-down of the tolerance could be missed
  std::optional<Share> max_spread;  // pairs that spread by more decide nothing
  std::chrono::milliseconds budget{600'000};  // of all pairs' processes; then it is inconclusive
  // diff
  std::optional<std::int64_t> max_lines;  // added + removed
  std::optional<std::int64_t> max_files;
  std::vector<std::string> forbid;  // globs, on old and new path
  // determinism
  std::vector<std::string> outputs;  // of the step
  int runs = 2;                      // how often the step runs
  // parity
  std::vector<ParityOutput> parity;
  bool operator==(const Gate&) const = default;
};

enum class Strategy : std::uint8_t { rebase };
enum class ApprovalRule : std::uint8_t { clean_rebase, exact };
enum class Assurance : std::uint8_t { in_process, out_of_process, sealed };
std::string_view assurance_name(Assurance assurance);  // "in-process", "out-of-process", "sealed"

struct Promotion {
  int approvals = 1;
  Strategy strategy = Strategy::rebase;
  ApprovalRule approval = ApprovalRule::clean_rebase;
  std::optional<Assurance> assurance;  // needed for approvals: 0
  bool self_owner = false;             // `self: owner`: an owner may approve the own change
  bool override_owners = false;        // `override: owners`: two owners may override named gates
  bool notes = false;                  // statements are kept as git notes of the commit too
  bool operator==(const Promotion&) const = default;
};

struct Policy {
  std::string environment = "host";
  std::vector<std::string> subject;  // globs; proofhouse.yaml is guarded whatever they say
  std::map<std::string, int> owners{{"**", 1}};  // glob -> approvals by owners
  sandbox::Limits limits;
  std::chrono::milliseconds total{3'600'000};  // of one attempt
  std::vector<Step> steps;                     // in the file's order
  std::vector<Gate> gates;                     // in the file's order: judged in it
  Promotion promotion;

  const Step* find_step(const StepName& name) const;
  const Gate* find_gate(const GateName& name) const;
  // The step that interacts with `step` (which is `from: base`), or nullptr.
  const Step* find_partner(const Step& step) const;
  bool operator==(const Policy&) const = default;
};

// Gitignore-like: '*' and '?' do not cross '/', '**' does; '**/' is any number of directories, none
// too. A glob without '/' is matched on the name of the file at any depth, any other on the whole
// path. Case-sensitive; no character classes.
bool glob_matches(std::string_view glob, std::string_view path);

// True unless a subject glob matches (by name, if the name has it autoloaded); kPolicyFile always.
bool is_guarded(const Policy& policy, std::string_view path);

// How many owners' approvals the guarded paths need: the most that any matching owners glob asks
// (the longest matching glob of each path counts for it); 0 without guarded paths.
int owner_approvals(const Policy& policy, const std::vector<std::string>& guarded_paths);

}  // namespace tasks
