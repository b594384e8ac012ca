#include "tasks/policy.h"

#include <algorithm>
#include <array>

#include "tasks/shared_json.h"

namespace tasks {
namespace {

constexpr std::array<std::string_view, 5> kGateKinds{"tests", "benchmark", "diff", "determinism",
                                                     "parity"};
// Loaded for their name alone: by pytest (its options stand in five kinds of files), python's site,
// ctest, cmake, GNU make (before the Makefile), cargo and its test runner, node's test runners,
// npm, gdb, and whatever reads dotenv files.
constexpr auto kAutoloadFiles = std::to_array<std::string_view>({"conftest.py",
                                                                 "pytest.ini",
                                                                 ".pytest.ini",
                                                                 "tox.ini",
                                                                 "setup.cfg",
                                                                 "pyproject.toml",
                                                                 "noxfile.py",
                                                                 "sitecustomize.py",
                                                                 "usercustomize.py",
                                                                 "pyvenv.cfg",
                                                                 "CTestCustom.cmake",
                                                                 "CTestCustom.ctest",
                                                                 "CTestConfig.cmake",
                                                                 "CTestTestfile.cmake",
                                                                 "DartConfiguration.tcl",
                                                                 "CMakePresets.json",
                                                                 "GNUmakefile",
                                                                 "CMakeUserPresets.json",
                                                                 "makefile",
                                                                 ".cargo/config",
                                                                 ".cargo/config.toml",
                                                                 "nextest.toml",
                                                                 "rust-toolchain",
                                                                 "rust-toolchain.toml",
                                                                 "build.rs",
                                                                 "jest.config.js",
                                                                 "jest.config.ts",
                                                                 "vitest.config.js",
                                                                 "vitest.config.ts",
                                                                 ".mocharc.js",
                                                                 ".mocharc.json",
                                                                 ".npmrc",
                                                                 ".gdbinit",
                                                                 ".env"});
// Every file with that ending: python reads each of them in a directory of packages.
constexpr std::string_view kPathFile = ".pth";

// Is `tail` the whole path, or the last of its parts?
bool ends_with_parts(std::string_view path, std::string_view tail) {
  if (!path.ends_with(tail)) return false;
  return path.size() == tail.size() || path[path.size() - tail.size() - 1] == '/';
}

// What a test runner, a build or an interpreter loads the file for; empty: nothing does. Such a
// file is guarded unless a subject glob ends with that very name.
std::string_view autoload_name(std::string_view path) {
  if (path.ends_with(kPathFile)) return kPathFile;
  const auto* const found = std::ranges::find_if(
      kAutoloadFiles, [path](std::string_view name) { return ends_with_parts(path, name); });
  return found == kAutoloadFiles.end() ? std::string_view() : *found;
}

// Does the glob mean this very file, and not all files around it?
bool names_autoload_file(std::string_view glob, std::string_view name) {
  return name == kPathFile ? glob.ends_with(kPathFile) : ends_with_parts(glob, name);
}

constexpr std::array<std::string_view, 3> kAssurances{"in-process", "out-of-process", "sealed"};

}  // namespace

std::string_view report_format_name(ReportFormat format) {
  return archive::Words<ReportFormat>::kAll.at(static_cast<std::size_t>(format));
}

ReportKind report_kind(ReportFormat format) {
  switch (format) {
    case ReportFormat::google_benchmark:
    case ReportFormat::criterion:
      return ReportKind::benchmark;
    case ReportFormat::metrics:
      return ReportKind::metrics;
    case ReportFormat::npy:
    case ReportFormat::safetensors:
      return ReportKind::arrays;
    case ReportFormat::gtest_json:
    case ReportFormat::ctest_junit:
    case ReportFormat::tap:
    case ReportFormat::gtest_xml:
    case ReportFormat::pytest_junit:
    case ReportFormat::catch2_junit:
    case ReportFormat::nextest_junit:
    case ReportFormat::go_test:
      break;
  }
  return ReportKind::tests;
}

os::Result<ReportFormat> parse_report_format(std::string_view name) {
  return archive::parse_word<ReportFormat>(name, "report format");
}

std::string_view gate_kind_name(GateKind kind) {
  return kGateKinds.at(static_cast<std::size_t>(kind));
}

std::string_view gate_clock_name(GateClock clock) {
  return archive::Words<GateClock>::kAll.at(static_cast<std::size_t>(clock));
}

std::string_view assurance_name(Assurance assurance) {
  return kAssurances.at(static_cast<std::size_t>(assurance));
}

const Step* Policy::find_step(const StepName& name) const {
  const auto found = std::ranges::find(steps, name, &Step::name);
  return found == steps.end() ? nullptr : &*found;
}

const Gate* Policy::find_gate(const GateName& name) const {
  const auto found = std::ranges::find(gates, name, &Gate::name);
  return found == gates.end() ? nullptr : &*found;
}

const Step* Policy::find_partner(const Step& step) const {
  for (const Need& need : step.needs) {
    const Step* const needed = step.from_base ? find_step(need.step) : nullptr;
    if (needed != nullptr && needed->interact) return needed;
  }
  return nullptr;
}

bool is_guarded(const Policy& policy, std::string_view path) {
  if (path == kPolicyFile) return true;
  const std::string_view autoload = autoload_name(path);
  return std::ranges::none_of(policy.subject, [&](const std::string& glob) {
    return glob_matches(glob, path) && (autoload.empty() || names_autoload_file(glob, autoload));
  });
}

int owner_approvals(const Policy& policy, const std::vector<std::string>& guarded_paths) {
  int most = 0;
  for (const std::string& path : guarded_paths) {
    std::size_t longest = 0;
    // A guarded path that no glob names still needs an owner.
    int needed = 1;
    for (const auto& [glob, approvals] : policy.owners) {
      if (glob.size() < longest || !glob_matches(glob, path)) continue;
      needed = glob.size() == longest ? std::max(needed, approvals) : approvals;
      longest = glob.size();
    }
    most = std::max(most, needed);
  }
  return most;
}

}  // namespace tasks
