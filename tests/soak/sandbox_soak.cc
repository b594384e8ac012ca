// Soaks the sandbox: random guests in jails that are killed now and then, and attempts of executors
// that are killed; afterwards nothing may be left, and nothing may have grown.
//
//   sandbox_soak [GUESTS] [SEED]     (default 5000 guests; a random seed, which is printed)
//
// One guest in ten runs into a limit, one in twenty is cancelled; jail and executor are killed -9
// twenty times each (fewer with fewer than 5000 guests). Needs root and the programs beside it.
// Exit status: 0 all went well, 1 not, 77 not root.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "sandbox/cgroup.h"
#include "sandbox/os/guarded.h"
#include "sandbox/os/ids.h"
#include "tests/bench/bench_jail.h"
#include "tests/soak/executor_soak.h"
#include "tests/soak/random_guest.h"

namespace {

using bench::BenchJail;
using std::chrono::milliseconds;

constexpr int kWorkers = 4;
constexpr int kSkipped = 77;
// Runs after which a jail has what it needs, and runs after which its growth is looked at.
constexpr int kWarmRuns = 10;
constexpr int kManyRuns = 30;

// Becomes readable once, so much later.
os::Result<os::Fd> alarm_after(milliseconds time) {
  os::Fd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when{};
  when.it_value.tv_nsec = std::max<long>(1, time.count() * 1'000'000);
  if (!timer.is_open() || ::timerfd_settime(timer.get(), 0, &when, nullptr) != 0)
    return os::fail_errno("make a timer");
  return timer;
}

// What all workers share.
struct Soak {
  std::string prefix;
  int guests = 5000;
  int kills = 20;
  std::uint64_t seed = 0;
  std::atomic<int> next{0};
  std::atomic<int> killed{0};
  std::atomic<std::int64_t> growth{0};
  os::Guarded<os::Result<void>> failure;
};

// One after the other in one jail.
class Worker {
 public:
  Worker(Soak& soak, int number)
      : soak_(soak), random_(soak.seed + 1 + static_cast<std::uint64_t>(number)) {}

  os::Result<void> run() {
    TRY(open());
    const int between = std::max(1, soak_.guests / soak_.kills);
    for (int guest = soak_.next++; guest < soak_.guests; guest = soak_.next++) {
      if (guest % between == between / 2)
        TRY_CONTEXT(kill_jail(), fmt::format("guest {}: the jail is killed", guest));
      else
        TRY_CONTEXT(run_guest(), fmt::format("guest {}", guest));
    }
    look_at_growth();
    return jail_->close();
  }

 private:
  os::Result<void> open() {
    jail_ = TRY(BenchJail::start(sandbox::Ahead::sandbox, soak_.prefix));
    runs_ = 0;
    return {};
  }

  os::Result<void> run_guest() {
    const soak::Guest guest = soak::random_guest(random_);
    os::Fd alarm;
    if (guest.cancel_after.count() > 0) alarm = TRY(alarm_after(guest.cancel_after));
    const sandbox::RunResult result = TRY(jail_->run(guest.request, alarm.get()));
    const std::string ending = sandbox::describe(result.outcome);
    if (ending != guest.ending)
      return os::fail(
          os::Code::internal,
          fmt::format("{} {}: {} expected", guest.request.command[0], ending, guest.ending));
    if (++runs_ == kWarmRuns) warm_kib_ = soak::resident_kib(jail_->process().pid());
    return {};
  }

  // Nothing of a command may outlive its jail; the groups are swept as an executor does.
  os::Result<void> kill_jail() {
    look_at_growth();
    const auto after = milliseconds(std::uniform_int_distribution(0, 40)(random_));
    {
      const std::jthread killer([this, after] {
        std::this_thread::sleep_for(after);
        static_cast<void>(jail_->process().signal(SIGKILL).has_value());
      });
      if (jail_->run(soak::lasting_guest().request))
        return os::fail(os::Code::internal, "the run came to an end");
    }
    static_cast<void>(jail_->close().has_value());
    const sandbox::CgroupHost host = TRY(sandbox::CgroupHost::detect());
    os::Result<sandbox::Cgroup> group = sandbox::Cgroup::open(host, jail_->cgroup());
    if (group) {
      for (int look = 0; TRY(group->population()) > 0; ++look) {
        if (look == 500) return os::fail(os::Code::internal, "a process outlives its jail");
        std::this_thread::sleep_for(milliseconds(10));
      }
      TRY(group->remove());
    }
    ++soak_.killed;
    return open();
  }

  void look_at_growth() {
    if (runs_ < kManyRuns) return;
    const std::int64_t grown = soak::resident_kib(jail_->process().pid()) - warm_kib_;
    std::int64_t most = soak_.growth;
    while (grown > most && !soak_.growth.compare_exchange_weak(most, grown)) continue;
  }

  Soak& soak_;
  std::mt19937_64 random_;
  std::unique_ptr<BenchJail> jail_;
  int runs_ = 0;
  std::int64_t warm_kib_ = 0;
};

os::Result<void> soak_jails(Soak& soak) {
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < kWorkers; ++number)
      threads.emplace_back([&soak, number] {
        os::Result<void> done = Worker(soak, number).run();
        if (done) return;
        soak.next = soak.guests;
        soak.failure.with([&done](os::Result<void>& first) { first = std::move(done); });
      });
  }
  TRY(soak.failure.with([](const os::Result<void>& first) { return first; }));
  std::printf("jails: %d guests, killed %d times; a jail grew by %lld KiB at most\n", soak.guests,
              soak.killed.load(), static_cast<long long>(soak.growth.load()));
  if (soak.growth > soak::kFlatKib) return os::fail(os::Code::internal, "a jail grows");
  return {};
}

// Processes in groups of ours, groups, records and mounts.
std::vector<std::string> leftovers(const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& name : os::list_directory("/proc").value_or(std::vector<std::string>()))
    if (os::read_file("/proc/" + name + "/cgroup").value_or(std::string()).contains(prefix))
      found.push_back("process " + name);
  if (const auto host = sandbox::CgroupHost::detect())
    for (const std::string& group : host->list(prefix).value_or(std::vector<std::string>()))
      found.push_back(group);
  const std::string records = "/run/proofhouse/attempts/" + prefix.substr(prefix.find('-') + 1);
  for (const std::string& name : os::list_directory(records).value_or(std::vector<std::string>()))
    found.push_back(records + "/" + name);
  if (os::read_file("/proc/self/mountinfo").value_or(std::string()).contains("proofhouse-bench"))
    found.emplace_back("a mount");
  return found;
}

os::Result<void> run(Soak& soak) {
  std::mt19937_64 random(soak.seed);
  TRY(soak_jails(soak));
  TRY(soak::soak_executor(soak.kills, random, soak.prefix));
  // The last jail's processes are gone before its groups are.
  std::vector<std::string> left;
  for (int look = 0; look < 100; ++look) {
    left = leftovers(soak.prefix);
    if (left.empty()) break;
    std::this_thread::sleep_for(milliseconds(50));
  }
  for (const std::string& one : left) std::printf("left behind: %s\n", one.c_str());
  std::printf("leftovers: %zu\n", left.size());
  if (!left.empty()) return os::fail(os::Code::internal, "something is left behind");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "--executor") == 0) return soak::run_as_executor(argv + 2);
  if (::geteuid() != 0) {
    std::printf("skipped: needs root\n");
    return kSkipped;
  }
  Soak soak;
  soak.prefix = "proofhouse-" + os::random_hex(4);
  if (argc > 1) soak.guests = std::max(1, std::atoi(argv[1]));
  soak.seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();
  soak.kills = std::clamp(soak.guests / 250, 2, 20);
  std::printf("seed %llu\n", static_cast<unsigned long long>(soak.seed));
  std::fflush(stdout);
  const os::Result<void> done = run(soak);
  if (const auto host = sandbox::CgroupHost::detect())
    static_cast<void>(host->sweep(soak.prefix).has_value());
  if (done) return 0;
  std::fprintf(stderr, "sandbox_soak: %s\n", done.error().message.c_str());
  return 1;
}
