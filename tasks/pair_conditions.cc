#include "tasks/pair_conditions.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"

namespace tasks {
namespace {

constexpr std::size_t kLongestFilter = 64U << 10U;
constexpr unsigned kLongestPad = 4096;
constexpr std::string_view kThreads = "/threads:";

std::string escape_expression(std::string_view name) {
  constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}";
  std::string escaped;
  for (const char c : name) {
    if (kSpecial.contains(c)) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

void append_flag(std::map<std::string, std::string>& environment, const char* name,
                 std::string_view flag) {
  std::string& value = environment[name];
  if (!value.empty()) value += ' ';
  value += flag;
}

// "cpu3 user nice system idle iowait irq softirq steal …" in ticks (man 5 proc).
void add_steal(const std::vector<int>& cpus, std::map<std::string, std::int64_t>& counters) {
  const os::Result<std::string> text = os::read_file("/proc/stat", 4U << 20U);
  if (!text) return;
  std::int64_t steal = 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (!name.starts_with("cpu")) break;
    const bool is_meant = cpus.empty() ? name == "cpu" : std::ranges::any_of(cpus, [&](int cpu) {
      return name == "cpu" + std::to_string(cpu);
    });
    if (!is_meant) continue;
    constexpr int kSteal = 8;
    std::int64_t ticks = 0;
    for (int field = 0; field < kSteal; ++field) words >> ticks;
    if (words) steal += ticks;
  }
  counters["steal_ms"] = steal * 1000 / std::max(1L, ::sysconf(_SC_CLK_TCK));
}

void add_throttling(const std::vector<int>& cpus, std::map<std::string, std::int64_t>& counters) {
  for (const int cpu : cpus) {
    const os::Result<std::string> text =
        os::read_file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                          "/thermal_throttle/core_throttle_count",
                      64);
    std::int64_t count = 0;
    if (text && std::istringstream(*text) >> count) counters["throttle_events"] += count;
  }
}

}  // namespace

std::string benchmark_filter(const std::vector<std::string>& only) {
  if (only.empty()) return {};
  std::string filter = "^(";
  for (const std::string& name : only) {
    // Some reports have the number of threads apart from the name.
    if (filter.size() > 2) filter += '|';
    filter += escape_expression(std::string_view(name).substr(0, name.rfind(kThreads)));
  }
  filter += ")(/threads:[0-9]+)?$";
  return filter.size() > kLongestFilter ? std::string() : filter;
}

void set_conditions(const RunKey& key, const std::vector<std::string>& only,
                    std::map<std::string, std::string>& environment) {
  if (key.pair) {
    const auto bytes = os::random_bytes(2);
    const unsigned length =
        (static_cast<unsigned>(bytes[0]) << 8U | static_cast<unsigned>(bytes[1])) % kLongestPad;
    environment["PROOFHOUSE_PAD"] = std::string(length, 'x');
    if (const std::string filter = benchmark_filter(only); !filter.empty())
      environment["BENCHMARK_FILTER"] = filter;
  }
  if (key.variant != Variant::relinked) return;
  environment["PROOFHOUSE_RELINK"] = "1";
  for (const char* const name : {"CFLAGS", "CXXFLAGS", "FFLAGS"})
    append_flag(environment, name, "-falign-functions=64");
  append_flag(environment, "RUSTFLAGS", "-C llvm-args=-align-all-functions=6");
}

MachineWatch::MachineWatch(const std::vector<int>& cpus) : cpus_(cpus), before_(counters()) {}

std::map<std::string, std::int64_t> MachineWatch::counters() const {
  std::map<std::string, std::int64_t> counters;
  add_steal(cpus_, counters);
  add_throttling(cpus_, counters);
  return counters;
}

std::map<std::string, std::int64_t> MachineWatch::disturbances() const {
  std::map<std::string, std::int64_t> found;
  for (const auto& [name, after] : counters()) {
    const auto before = before_.find(name);
    if (before != before_.end()) found[name] = std::max<std::int64_t>(0, after - before->second);
  }
  const os::Result<std::string> load = os::read_file("/proc/loadavg", 256);
  double average = 0;
  if (load && std::istringstream(*load) >> average)
    found["load_milli"] = static_cast<std::int64_t>(average * 1000);
  return found;
}

}  // namespace tasks
