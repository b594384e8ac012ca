// At every failpoint each role that lives there is killed; the end must be the same.
//
// A cell is one point with one role, on a server of its own: a change is posted, the process that
// reaches the point stops itself there, the role is killed by SIGKILL, what is stopped goes on, and
// serve is started again where it ended. Then the change is approved as soon as it waits for that.
#include <signal.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/e2e/serve_fixture.h"

namespace tests {
namespace {

enum class Role : std::uint8_t { serve, executor, attempt, jail };

constexpr std::array<const char*, 4> kRoles{"serve", "executor", "attempt", "jail"};

// A point: where it stands says who lives there and when it is reached.
struct Point {
  std::string name;
  bool in_attempt = false;  // an attempt reaches it; else serve
  bool after_approval = false;
  bool has_result = false;  // the attempt has no more to do
};

const std::vector<Point>& points() {
  static const std::vector<Point> all{
      {.name = "accepted"},
      {.name = "leased"},
      {.name = "claimed", .in_attempt = true},
      {.name = "mid-step", .in_attempt = true},
      {.name = "result-renamed", .in_attempt = true, .has_result = true},
      {.name = "verdict-committed"},
      {.name = "ref-moved", .after_approval = true},
      {.name = "receipt-written", .after_approval = true}};
  return all;
}

class Cell {
 public:
  Cell(const Point& point, Role role) : point_(point), role_(role) {}

  // Goes the whole way; the row of the table.
  std::string run();

 private:
  std::string marker(const std::string& name) const { return server_.place() + "/marks/" + name; }
  std::string entry(const std::string& name, const std::string& stop) const;
  // Makes a stop act. Until then it is passed over: its first marker cannot be made.
  void arm(const std::string& stop) const;
  void wait_for_stop(const std::string& stop) const;
  void reach();
  void kill_and_go_on();
  void finish();
  void expect_one_of_all(const Document& task);

  const Point& point_;
  Role role_;
  Server server_;
  std::string before_, id_;
  TaskBody body_;
  std::future<HttpAnswer> posted_, decided_;
};

std::string Cell::entry(const std::string& name, const std::string& stop) const {
  return name + ":once=" + marker(stop) + "/once:pause=" + marker(stop) + "/paused";
}

void Cell::arm(const std::string& stop) const {
  // Whatever user reaches it leaves its marker there.
  const std::string directory = marker(stop);
  if (::mkdir(directory.c_str(), 0777) != 0 || ::chmod(directory.c_str(), 0777) != 0)
    throw std::runtime_error("cannot arm " + stop);
}

void Cell::wait_for_stop(const std::string& stop) const {
  const bool is_stopped = wait_until([&] {
    if (!std::filesystem::exists(marker(stop) + "/paused")) return false;
    for (const MarkedProcess& process : server_.processes())
      if (process.is_stopped) return true;
    return false;
  });
  if (!is_stopped) throw std::runtime_error("never came to " + stop + "\n" + server_.log());
}

// Leaves the process that reached the point stopped there.
void Cell::reach() {
  // An attempt's points are reached by the ingest of the POST too: serve is held between the two.
  std::string failpoints = entry(point_.name, "point");
  if (point_.in_attempt) failpoints += "," + entry("leased", "hold");
  server_.start(failpoints);
  before_ = server_.sample().tip();
  body_.patch = server_.sample().patch({{"src/notes.txt", "more\n"}});
  arm(point_.in_attempt ? "hold" : "point");
  posted_ = std::async(std::launch::async, [this] { return server_.submit(body_, "cell"); });
  if (point_.in_attempt) {
    wait_for_stop("hold");
    arm("point");
    server_.resume();
  }
  if (point_.after_approval) {
    id_ = posted_.get().at("/id");
    server_.wait_for(id_, "awaiting_approval");
    decided_ = std::async(std::launch::async, [this] { return server_.decide("rex", id_); });
  }
  wait_for_stop("point");
}

void Cell::kill_and_go_on() {
  switch (role_) {
    case Role::serve:
      server_.kill_serve();
      break;
    case Role::executor:
      server_.kill_executor();
      break;
    case Role::attempt:
    case Role::jail: {
      std::vector<LivingAttempt> living;
      if (!wait_until([&] { return !(living = server_.living()).empty(); }))
        throw std::runtime_error("no attempt lives");
      for (const LivingAttempt& attempt : living)
        ::kill(role_ == Role::attempt ? attempt.pid : attempt.jail, SIGKILL);
      break;
    }
  }
  server_.resume();
  if (role_ == Role::executor) server_.wait_for_end();
  if (role_ == Role::serve || role_ == Role::executor) server_.start();
}

void Cell::finish() {
  // An answer may be lost on the way; the key stands for the task.
  if (posted_.valid()) posted_.wait();
  if (decided_.valid()) decided_.wait();
  id_ = server_.post(body_, "cell");
  const Document list = server_.as("admin").get("/v1/tasks").document();
  EXPECT_EQ(list.size("/tasks"), 1U) << "what was accepted is lost, or there twice";
  const Document task = server_.wait_for(id_, "awaiting_approval");
  if (task.at("/state") == "awaiting_approval") {
    const HttpAnswer answer = server_.decide("rex", id_);
    // The first decision may have been durable without its answer.
    EXPECT_TRUE(answer.status == 200 || answer.status == 409) << answer.body;
  }
}

void Cell::expect_one_of_all(const Document& task) {
  EXPECT_EQ(task.at("/state"), "done");
  EXPECT_EQ(task.at("/verdict"), "accepted") << task.at("/reason");
  EXPECT_EQ(task.at("/promotion/new"), task.at("/candidate/commit"));
  EXPECT_TRUE(task.has("/promotion/receipt"));
  EXPECT_EQ(server_.sample().tip(), task.at("/candidate/commit"));
  EXPECT_EQ(server_.sample().tip("^"), before_);
  EXPECT_EQ(server_.sample().commits_since(before_), 1);

  std::map<std::string, int> moves;
  std::map<std::string, int> claims;
  for (const StreamEvent& event : server_.events(id_)) {
    ++moves[event.type];
    const Document data(event.data);
    if (event.type == "attempt.started")
      ++claims[data.at("/data/attempt") + "." + data.at("/data/fence")];
  }
  EXPECT_EQ(moves["task.awaiting_approval"], 1) << "results were taken twice, or none";
  EXPECT_EQ(moves["task.promoting"], 1);
  EXPECT_EQ(moves["task.done"], 1);
  for (const auto& [attempt, count] : claims) EXPECT_EQ(count, 1) << attempt << " was run twice";
  // Who executes is not missed by serve and executor; without it there is another try.
  const bool is_lost =
      point_.in_attempt && !point_.has_result && (role_ == Role::attempt || role_ == Role::jail);
  EXPECT_EQ(task.size("/attempts"), is_lost ? 2U : 1U) << task.at("/attempts");
  const std::string last = "/attempts/" + std::to_string(task.size("/attempts") - 1);
  EXPECT_EQ(task.at(last + "/state"), "finished");
  EXPECT_EQ(claims.count(task.at(last + "/id") + "." + task.at(last + "/fence")), 1U);
}

std::string Cell::run() {
  const auto begin = std::chrono::steady_clock::now();
  reach();
  kill_and_go_on();
  finish();
  const Document task = server_.wait_for(id_, "done");
  expect_one_of_all(task);
  server_.expect_clean_end();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return fmt::format("{:<18} {:<9} {:<6} {:<9} {:<9} {} {:6.1f} s", point_.name,
                     kRoles[static_cast<std::size_t>(role_)], task.at("/state"),
                     task.at("/verdict"), task.has("/promotion") ? "promoted" : "-",
                     task.size("/attempts"), took.count());
}

struct Job {
  const Point* point = nullptr;
  Role role = Role::serve;
};

std::vector<Job> all_cells() {
  std::vector<Job> jobs;
  for (const Point& point : points()) {
    jobs.push_back({&point, Role::serve});
    jobs.push_back({&point, Role::executor});
    if (!point.in_attempt) continue;
    jobs.push_back({&point, Role::attempt});
    jobs.push_back({&point, Role::jail});
  }
  return jobs;
}

std::string run_job(const Job& job) {
  const std::string name = job.point->name + " × " + kRoles[static_cast<std::size_t>(job.role)];
  const testing::ScopedTrace trace(__FILE__, __LINE__, name);
  try {
    return Cell(*job.point, job.role).run();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
    return name + ": " + error.what();
  }
}

TEST(Failpoint, LosesNothingAndDoesNothingTwiceWhoeverIsKilled) {
  REQUIRE_CAPABILITY(root);
  REQUIRE_CAPABILITY(userns);
  REQUIRE_CAPABILITY(overlayfs);
  REQUIRE_CAPABILITY(cgroup);
  REQUIRE_CAPABILITY(seccomp);
  REQUIRE_CAPABILITY(git);
  // A cell mostly waits: several at once.
  constexpr std::size_t kAtOnce = 4;
  const char* const only = std::getenv("PROOFHOUSE_FAILPOINT_CELLS");
  std::vector<Job> jobs = all_cells();
  if (only != nullptr)
    std::erase_if(jobs, [&](const Job& job) {
      return !(job.point->name + "/" + kRoles[static_cast<std::size_t>(job.role)]).contains(only);
    });
  std::vector<std::string> rows(jobs.size());
  std::atomic<std::size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kAtOnce; ++i)
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < jobs.size(); at = next++) rows[at] = run_job(jobs[at]);
      });
  }
  fmt::print("point              killed    state  verdict   branch    attempts\n");
  for (const std::string& row : rows) fmt::print("{}\n", row);
}

}  // namespace
}  // namespace tests
