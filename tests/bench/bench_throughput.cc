#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <mutex>
#include <thread>

#include "sandbox/cgroup.h"
#include "sandbox/os/guarded.h"
#include "tests/bench/bench_jail.h"
#include "tests/bench/parts.h"
#include "tests/bench/peers.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Loop = std::function<os::Result<void>()>;

constexpr int kLoops = 32;
// Sandboxes that wait, for the memory of one.
constexpr int kWaiting = 16;

// All loops at once for the given time; runs a second.
os::Result<double> run_loops(std::vector<Loop> loops, std::chrono::seconds time) {
  std::atomic<std::int64_t> count{0};
  os::Guarded<os::Result<void>> failure;
  const Clock::time_point begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (Loop& loop : loops)
      threads.emplace_back([&, begin] {
        while (Clock::now() < begin + time) {
          const os::Result<void> done = loop();
          if (!done) return failure.with([&done](os::Result<void>& first) { first = done; });
          ++count;
        }
      });
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  TRY(failure.with([](const os::Result<void>& first) { return first; }));
  return static_cast<double>(count) / took.count();
}

struct Way {
  const char* name;
  std::vector<Loop> loops;
  double best = 0;
  double sum = 0;
};

std::int64_t available_kib() {
  const std::string info = os::read_file("/proc/meminfo").value_or(std::string());
  const std::size_t at = info.find("MemAvailable:");
  return at == std::string::npos ? 0 : std::atoll(info.c_str() + at + 13);
}

// Memory charged to a group of a hierarchy with the memory controller; 0 where there is none.
std::int64_t charged(const sandbox::CgroupHost& host, const std::string& group) {
  for (const auto& hierarchy : host.hierarchies()) {
    if (!hierarchy.has("memory")) continue;
    const std::string file = hierarchy.is_unified() ? "/memory.current" : "/memory.usage_in_bytes";
    return std::atoll(
        os::read_file(hierarchy.directory(group) + file).value_or(std::string("0")).c_str());
  }
  return 0;
}

// Puts a process into the memory group of `group`, which its children inherit.
os::Result<void> charge_to(const sandbox::CgroupHost& host, pid_t pid, const std::string& group) {
  for (const auto& hierarchy : host.hierarchies()) {
    if (!hierarchy.has("memory") || hierarchy.is_unified()) continue;
    const os::Fd file = TRY(os::open_file(hierarchy.directory(group) + "/cgroup.procs", O_WRONLY));
    TRY(os::write_all(file.get(), std::to_string(pid)));
  }
  return {};
}

// KiB for each of some jails, after a run and at rest.
struct Held {
  std::int64_t charged = 0;  // to its group
  std::int64_t taken = 0;    // from what the machine had available
};

os::Result<Held> hold(sandbox::Ahead ahead, const Options& options) {
  const sandbox::CgroupHost host = TRY(sandbox::CgroupHost::detect());
  const std::int64_t before = available_kib();
  std::vector<std::unique_ptr<BenchJail>> jails;
  Held held;
  for (int i = 0; i < kWaiting; ++i) {
    jails.push_back(TRY(BenchJail::start(ahead, options.prefix)));
    TRY(jails.back()->settle());
    TRY(charge_to(host, jails.back()->process().pid(), jails.back()->cgroup()));
    TRY(jails.back()->run_empty());
    TRY(jails.back()->settle());
    held.charged += charged(host, jails.back()->cgroup()) / 1024 / kWaiting;
  }
  held.taken = (before - available_kib()) / kWaiting;
  for (const auto& jail : jails) {
    // It has to leave the group that it is to remove.
    TRY(charge_to(host, jail->process().pid(), ""));
    TRY(jail->close());
  }
  return held;
}

}  // namespace

os::Result<void> measure_throughput(const Options& options) {
  std::vector<std::unique_ptr<BenchJail>> jails;
  std::array<Way, 3> ways{Way{"posix_spawn", {}}, Way{"ours", {}}, Way{"bubblewrap", {}}};
  const os::TempDir directory = TRY(os::TempDir::create("proofhouse-peers"));
  const std::vector<Peer> peers = TRY(find_peers(directory.path()));
  for (int i = 0; i < kLoops; ++i) {
    jails.push_back(TRY(BenchJail::start(sandbox::Ahead::sandbox, options.prefix)));
    TRY(jails.back()->run_empty());
    ways[0].loops.emplace_back([] { return spawn_and_wait({kCommand}); });
    // The next request waits for the teardown of the last: nothing is left out of the figure.
    ways[1].loops.emplace_back([jail = jails.back().get()] { return jail->run_empty(); });
    if (peers.front().absent.empty()) ways[2].loops.push_back(peers.front().run);
  }
  for (int run = 0; run < options.runs; ++run)
    for (Way& way : ways) {
      if (way.loops.empty()) continue;
      const double rate = TRY(run_loops(way.loops, std::chrono::seconds(options.seconds)));
      way.best = std::max(way.best, rate);
      way.sum += rate;
    }
  for (const std::unique_ptr<BenchJail>& jail : jails) TRY(jail->close());
  std::printf("%d loops at once, %d times %d s: runs a second, mean (best)\n", kLoops, options.runs,
              options.seconds);
  for (const Way& way : ways)
    std::printf("%-18s %8.1f (%.1f)   %.2f x bubblewrap\n", way.name, way.sum / options.runs,
                way.best, way.sum / ways[2].sum);
  std::printf("\n");
  return {};
}

os::Result<void> measure_memory(const Options& options) {
  const Held without = TRY(hold(sandbox::Ahead::nothing, options));
  const Held with = TRY(hold(sandbox::Ahead::sandbox, options));
  std::printf(
      "Memory of an idle prewarmed sandbox (mean of %d): %lld KiB charged, %lld KiB less "
      "available on the whole machine\n\n",
      kWaiting, static_cast<long long>(with.charged - without.charged),
      static_cast<long long>(with.taken - without.taken));
  return {};
}

}  // namespace bench
