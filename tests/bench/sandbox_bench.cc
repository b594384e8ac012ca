// What a sandbox costs.
//
//   sandbox_bench [--rounds N] [--runs N] [--seconds N] [--json FILE] [PART…]
//
// PARTs (default: all): latency  throughput  memory  workspace  attempt
//   latency     an empty command by posix_spawn, in our jail (cold, pooled, prewarmed: how much of
//               the sandbox was made before it was asked for), in a jail started for it alone, and
//               in every peer that is installed; N rounds (100) of all of them in turn, N runs (3).
//               Ours is the time from the request to the result; what follows is `settling`.
//   throughput  32 loops at once for N seconds (5) each: a loop starts the next when the last is
//               gone
//   memory      of an idle prewarmed sandbox
//   workspace   a writable view of a cached tree of 1,000, 10,000 and 60,000 files, beside
//               `git worktree add` and `cp -al`
//   attempt     an empty attempt: its processes are started, it runs nothing or one empty step, its
//               result is read
//
// Needs root and the programs beside it. The rows go to FILE (build/bench/sandbox.json) as well.
// Exit status 1 when something of ours could not run. Not Google Benchmark, because the ways have
// to alternate run by run: whatever else the machine does then meets all of them alike.
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "sandbox/cgroup.h"
#include "sandbox/os/ids.h"
#include "tests/bench/bench_jail.h"
#include "tests/bench/parts.h"
#include "tests/bench/peers.h"
#include "tests/bench/series.h"

namespace {

using bench::BenchJail;
using bench::Options;
using bench::Series;

constexpr const char* kOurs = "user mnt pid net ipc uts cgroup, seccomp, memory pids cpu devices";

// The empty command one after the other in every way.
class Latency {
 public:
  static os::Result<Latency> make(const std::string& directory, const std::string& prefix) {
    Latency latency;
    latency.prefix_ = prefix;
    latency.cold_ = TRY(BenchJail::start(sandbox::Ahead::nothing, prefix));
    latency.pooled_ = TRY(BenchJail::start(sandbox::Ahead::namespaces, prefix));
    latency.prewarmed_ = TRY(BenchJail::start(sandbox::Ahead::sandbox, prefix));
    latency.peers_ = TRY(bench::find_peers(directory));
    latency.all_ = {{"posix_spawn", "nothing", {}, {}},
                    {"cold", kOurs, {}, {}},
                    {"pooled", kOurs, {}, {}},
                    {"prewarmed", kOurs, {}, {}},
                    {"settling", "(after cold)", {}, {}},
                    {"own_jail", kOurs, {}, {}}};
    for (const bench::Peer& peer : latency.peers_)
      latency.all_.push_back({peer.name, peer.isolates, peer.absent, {}});
    for (BenchJail* jail : {&*latency.cold_, &*latency.pooled_, &*latency.prewarmed_}) {
      TRY(jail->run_empty());
      TRY(jail->settle());
    }
    return latency;
  }

  os::Result<void> round() {
    TRY(bench::measure(all_[0], [] { return bench::spawn_and_wait({bench::kCommand}); }));
    TRY(bench::measure(all_[1], [this] { return cold_->run_empty(); }));
    TRY(bench::measure(all_[4], [this] { return cold_->settle(); }));
    TRY(bench::measure(all_[2], [this] { return pooled_->run_empty(); }));
    TRY(pooled_->settle());
    TRY(bench::measure(all_[3], [this] { return prewarmed_->run_empty(); }));
    TRY(prewarmed_->settle());
    TRY(bench::measure(all_[5], [this] { return run_in_own_jail(); }));
    for (std::size_t i = 0; i < peers_.size(); ++i)
      if (peers_[i].absent.empty()) TRY(bench::measure(all_[kOwn + i], peers_[i].run));
    return {};
  }

  os::Result<void> close() {
    for (BenchJail* jail : {&*cold_, &*pooled_, &*prewarmed_}) TRY(jail->close());
    return {};
  }

  const std::vector<Series>& all() const { return all_; }

 private:
  static constexpr std::size_t kOwn = 6;

  os::Result<void> run_in_own_jail() {
    const std::unique_ptr<BenchJail> jail = TRY(BenchJail::start(sandbox::Ahead::nothing, prefix_));
    TRY(jail->run_empty());
    return jail->close();
  }

  std::string prefix_;
  std::unique_ptr<BenchJail> cold_;
  std::unique_ptr<BenchJail> pooled_;
  std::unique_ptr<BenchJail> prewarmed_;
  std::vector<bench::Peer> peers_;
  std::vector<Series> all_;
};

os::Result<std::vector<Series>> measure_latency(const Options& options) {
  const os::TempDir directory = TRY(os::TempDir::create("proofhouse-peers"));
  Latency latency = TRY(Latency::make(directory.path(), options.prefix));
  for (int round = 0; round < options.runs * options.rounds; ++round) TRY(latency.round());
  TRY(latency.close());
  std::printf("An empty command: %d runs of %d rounds, all ways in turn\n", options.runs,
              options.rounds);
  bench::print_table(latency.all(), options.runs);
  const std::vector<Series>& all = latency.all();
  if (all[6].absent.empty())
    std::printf("cold: %.2f of bubblewrap's p50\n", all[1].at(0.5) / all[6].at(0.5));
  std::printf("\n");
  return latency.all();
}

int usage() {
  std::fprintf(stderr,
               "usage: sandbox_bench [--rounds N] [--runs N] [--seconds N] [--json FILE] "
               "[latency|throughput|memory|workspace|attempt]...\n");
  return 2;
}

os::Result<void> bench_all(const Options& options, const std::set<std::string_view>& parts) {
  const auto wanted = [&parts](const char* part) { return parts.empty() || parts.contains(part); };
  std::vector<Series> rows;
  const auto add = [&rows](std::vector<Series> more) {
    rows.insert(rows.end(), more.begin(), more.end());
  };
  if (wanted("latency")) add(TRY(measure_latency(options)));
  if (wanted("throughput")) TRY(bench::measure_throughput(options));
  if (wanted("memory")) TRY(bench::measure_memory(options));
  if (wanted("workspace")) add(TRY(bench::measure_workspaces(options)));
  if (wanted("attempt")) add(TRY(bench::measure_attempts(options)));
  if (!rows.empty()) TRY(bench::write_json(rows, options.json));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.prefix = "proofhouse-" + os::random_hex(4);
  std::set<std::string_view> parts;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--rounds" && has_value) {
      options.rounds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--runs" && has_value) {
      options.runs = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--seconds" && has_value) {
      options.seconds = std::max(1, std::atoi(argv[++i]));
    } else if (word == "--json" && has_value) {
      options.json = argv[++i];
    } else if (word.starts_with("-")) {
      return usage();
    } else if (!parts.insert(word).second ||
               !std::set<std::string_view>{"latency", "throughput", "memory", "workspace",
                                           "attempt"}
                    .contains(word)) {
      return usage();
    }
  }
  const os::Result<void> done = bench_all(options, parts);
  if (const auto host = sandbox::CgroupHost::detect())
    static_cast<void>(host->sweep(options.prefix).has_value());
  if (done) return 0;
  std::fprintf(stderr, "sandbox_bench: %s\n", done.error().message.c_str());
  return 1;
}
