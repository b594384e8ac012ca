// Soaks promotions: random changes (independent, conflicting, building on each other) are taken in,
// decided on and landed by the real service while its attempts verify nothing, fail at random or
// get lost, others push past it, and it is killed -9 again and again; afterwards the target's
// history and what became of every change must fit together.
//
//   promotion_soak [CHANGES] [SEED]     (default 10000 changes; a random seed, which is printed)
//
// Rounds of at most 250 changes, each on a repository and a database of its own, on tmpfs where
// there is one. Exit status: 0 all went well, else 1.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "tests/runner/house.h"
#include "tests/soak/promotion_client.h"
#include "tests/soak/promotion_ledger.h"

namespace {

using soak::Ledger;
using soak::RoundPlace;
using std::chrono::milliseconds;

constexpr int kRound = 250;
constexpr int kChangesAKill = 25;
constexpr std::chrono::minutes kRoundLimit{20};

constexpr const char* kPolicy = R"(version: 1
subject: [src/**]
limits: {cpus: 1, memory: 256MiB, disk: 64MiB, total: 10m}
steps:
  test: {run: "true", report: {gtest-json: report.json}}
gates:
  tests: {kind: tests, steps: [test]}
  size: {kind: diff, max_lines: 100}
promotion: {approvals: 1, strategy: rebase, approval: clean-rebase}
)";

template <class T>
T must(os::Result<T> result, const char* what) {
  if (!result) {
    fmt::print(stderr, "{}: {}\n", what, result.error().message);
    std::exit(1);
  }
  return std::move(*result);
}

// The commit that a new repository starts with.
std::string make_repository(const RoundPlace& place) {
  const std::string work = place.path + "/work";
  tests::shell("git init -q -b main " + work + "; cd " + work +
               "; git config user.name t; git config user.email t@t; mkdir src; for i in 0 1 2 3; "
               "do echo hot > src/hot$i.txt; done; cat > proofhouse.yaml <<'E'\n" +
               kPolicy + "E\ngit add -A; git commit -q -m first; git clone -q --bare . " +
               place.repository());
  return tests::shell("git --git-dir=" + place.repository() + " rev-parse main").substr(0, 40);
}

// A killed writer leaves its lock on the reference, as git's own do; an operator takes it away.
void remove_locks(const RoundPlace& place) {
  for (const char* const name : {"/refs/heads/main.lock", "/packed-refs.lock", "/config.lock"})
    ::unlink((place.repository() + name).c_str());
}

// Lives of the server until all has ended. False: one ended otherwise.
bool live(const RoundPlace& place, int changes, std::uint64_t seed, int& killed) {
  std::mt19937_64 random(seed);
  const int kills = changes / kChangesAKill;
  for (int life = 0;; ++life) {
    remove_locks(place);
    os::SpawnRequest request;
    request.program = "/proc/self/exe";
    request.arguments = {"--client", place.path, std::to_string(changes), std::to_string(seed),
                         std::to_string(life)};
    request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
                           "GIT_CONFIG_NOSYSTEM=1"};
    request.die_with_parent = true;
    const os::Fd log = must(os::open_file(place.path + "/log", O_WRONLY | O_CREAT | O_APPEND, 0600),
                            "open the log");
    request.standard_output = log.get();
    request.standard_error = log.get();
    os::ChildProcess child = must(os::ChildProcess::spawn(std::move(request)), "start a client");
    const bool is_last = life >= kills;
    const auto limit = is_last ? milliseconds(kRoundLimit) : milliseconds(200 + random() % 1300);
    const auto ended = child.wait(limit);
    if (ended) return ended->is_success();
    static_cast<void>(child.signal(SIGKILL).has_value());
    static_cast<void>(must(child.wait(milliseconds(60'000)), "a killed client ends").is_success());
    if (is_last) return false;
    ++killed;
  }
}

os::TempDir make_directory() {
  // tmpfs: what is forced to the disk is there at once.
  if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  return must(os::TempDir::create("promotion-soak"), "a temporary directory");
}

Ledger run_round(int changes, std::uint64_t seed, int& killed) {
  const os::TempDir directory = make_directory();
  const RoundPlace place{directory.path()};
  const std::string base = make_repository(place);
  const bool has_ended = live(place, changes, seed, killed);
  Ledger ledger = soak::check_round(place, base, changes);
  if (!has_ended) ledger.problems.emplace_back("the server did not end by itself");
  if (!ledger.problems.empty()) {
    const std::string log = os::read_file(place.path + "/log").value_or(std::string());
    constexpr std::size_t kTail = 4000;
    fmt::print("the end of the server's log:\n{}\n",
               log.substr(log.size() - std::min(log.size(), kTail)));
  }
  return ledger;
}

int soak_promotions(int changes, std::uint64_t seed) {
  fmt::print("promotion soak: {} changes, seed {}\n", changes, seed);
  std::fflush(stdout);
  Ledger all;
  int killed = 0;
  for (int done = 0; done < changes && all.problems.empty(); done += kRound) {
    all.add(run_round(std::min(kRound, changes - done), seed + static_cast<std::uint64_t>(done),
                      killed));
    fmt::print("{} changes: {} tips, {} of them pushed by others, {} verifications, {} kills\n",
               std::min(done + kRound, changes), all.tips, all.pushed, all.verifications, killed);
    std::fflush(stdout);
  }
  for (const auto& [end, count] : all.ends) fmt::print("  {:5} {}\n", count, end);
  for (const std::string& problem : all.problems) fmt::print("WRONG: {}\n", problem);
  return all.problems.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const auto number = [&](int at) { return std::strtoull(arguments[at], nullptr, 10); };
  if (count == 6 && std::string_view(arguments[1]) == "--client")
    return soak::run_client({.place = {arguments[2]},
                             .changes = static_cast<int>(number(3)),
                             .seed = number(4),
                             .life = static_cast<int>(number(5))});
  const int changes = count > 1 ? static_cast<int>(number(1)) : 10'000;
  return soak_promotions(changes, count > 2 ? number(2) : std::random_device{}());
}
