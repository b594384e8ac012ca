#include "tests/e2e/server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/cgroup.h"
#include "sandbox/os/digest.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Belongs to nobody; below the ids that executors lend to sandboxes.
constexpr unsigned kServeUser = 938'002;

template <class Value>
Value must(os::Result<Value> result, const std::string& what) {
  if (!result) throw std::runtime_error(what + ": " + result.error().message);
  if constexpr (!std::is_void_v<Value>) return std::move(*result);
}

void make_directory(const std::string& path, unsigned owner, mode_t mode) {
  fs::create_directories(path);
  if (::chown(path.c_str(), owner, owner) != 0 || ::chmod(path.c_str(), mode) != 0)
    throw std::runtime_error("cannot make " + path);
}

void write_file(const std::string& path, const std::string& text, mode_t mode) {
  std::ofstream(path, std::ios::binary) << text;
  if (::chmod(path.c_str(), mode) != 0) throw std::runtime_error("cannot write " + path);
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

}  // namespace

bool wait_until(const std::function<bool()>& is_so, milliseconds limit) {
  const steady_clock::time_point deadline = steady_clock::now() + limit;
  while (!is_so()) {
    if (steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

Server::Server(const std::string& config)
    : place_(must(os::TempDir::create("proofhouse-e2e"), "temporary directory")) {
  guardian_ = must(Guardian::watch(mark(), place()), "guardian");
  // Serve and attempts pass through and cannot look in.
  make_directory(place(), 0, 0711);
  make_directory(data(), kServeUser, 0711);
  make_directory(place() + "/run", 0, 0755);
  make_directory(place() + "/tokens", 0, 0700);
  // Whatever role reaches a failpoint leaves its mark here.
  make_directory(place() + "/marks", 0, 0777);
  instance_ = os::sha256(data()).hex().substr(0, 8);
  write_file(place() + "/config.yaml",
             "listen: 127.0.0.1:0\ndata: " + data() + "\nuser: " + std::to_string(kServeUser) +
                 "\ngit: {schemes: [https, ssh, git]}\n" + config,
             0644);
  sample_ = std::make_unique<SampleRepository>(place(), kServeUser);
}

Server::~Server() {
  // After a failed test too: nothing of ours outlives it.
  for (int round = 0; round < 50 && !processes().empty(); ++round) {
    for (const MarkedProcess& process : processes()) ::kill(process.pid, SIGKILL);
    std::this_thread::sleep_for(milliseconds(20));
  }
  serve_.reset();
  if (const auto host = sandbox::CgroupHost::detect())
    static_cast<void>(host->sweep("proofhouse-" + instance_).has_value());
  std::error_code ignored;
  fs::remove_all("/run/proofhouse/attempts/" + instance_, ignored);
}

void Server::start(const std::string& failpoints) {
  const std::string runtime = place() + "/run/proofhouse/default.json";
  fs::remove(runtime);
  const os::Fd log =
      must(os::open_file(place() + "/serve.log", O_WRONLY | O_CREAT | O_APPEND, 0600), "serve.log");
  os::SpawnRequest request;
  request.program = program_path("proofhouse");
  request.arguments = {"serve", "--config", place() + "/config.yaml"};
  // Handed on to executor and attempts, it is also the mark by which we find them.
  request.environment = {
      "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=" + place() + "/run",
      "PROOFHOUSE_FAILPOINT=" + (failpoints.empty() ? "" : failpoints + ",") + mark()};
  request.directory = "/";
  request.standard_output = log.get();
  request.standard_error = log.get();
  request.new_session = true;
  serve_ = must(os::ChildProcess::spawn(request), "start serve");
  const bool is_ready = wait_until([&] {
    if (serve_->wait(milliseconds(0)))
      throw std::runtime_error("serve ended before it was ready:\n" + this->log());
    url_ = Document(os::read_file(runtime).value_or(std::string())).at("/url");
    return !url_.empty() && HttpClient(url_, {}).get("/readyz").status == 200;
  });
  if (!is_ready) throw std::runtime_error("serve is not ready:\n" + this->log());
  if (++started_ == 1) make_people();
}

void Server::make_people() {
  std::string admin;
  if (!wait_until([&] { return fs::exists(data() + "/admin.token"); }))
    throw std::runtime_error("no admin.token");
  admin = must(os::read_file(data() + "/admin.token"), "admin.token");
  admin.erase(admin.find_last_not_of('\n') + 1);
  tokens_["admin"] = admin;
  write_file(place() + "/tokens/admin", admin + "\n", 0600);
  const HttpAnswer project = as("admin").post(
      "/v1/projects",
      object_of(
          {{"name", "sample"}, {"repository", sample_->path()}, {"target", "refs/heads/main"}}));
  if (project.status != 201) throw std::runtime_error("project add: " + project.body + this->log());
  struct Person {
    std::string name, owner;
    std::vector<std::string> roles;
  };
  const std::vector<Person> people{{"ada", "", {"agent"}},
                                   {"rex", "", {"reviewer"}},
                                   {"olga", "", {"owner", "reviewer"}},
                                   {"ada2", "ada", {"owner"}},
                                   {"eve", "", {}}};
  for (const Person& person : people) {
    std::map<std::string, std::string> principal{{"name", person.name}};
    if (!person.owner.empty()) principal["owner"] = person.owner;
    const auto post = [&](const std::string& path, const std::string& body) {
      const HttpAnswer answer = as("admin").post(path, body);
      if (answer.status != 201) throw std::runtime_error(path + ": " + answer.body);
      return answer;
    };
    post("/v1/principals", object_of(principal));
    for (const std::string& role : person.roles)
      post("/v1/grants", object_of({{"principal", person.name}, {"project", "*"}, {"role", role}}));
    const HttpAnswer token =
        post("/v1/tokens", "{\"principal\":\"" + person.name + "\",\"lifetime_seconds\":3600}");
    tokens_[person.name] = token.at("/token");
    write_file(place() + "/tokens/" + person.name, tokens_[person.name] + "\n", 0600);
  }
}

os::ExitStatus Server::stop() {
  if (!serve_) return {};
  must(serve_->signal(SIGTERM), "stop serve");
  const os::ExitStatus status = must(serve_->wait(kPatience), "serve does not end");
  serve_.reset();
  return status;
}

void Server::kill_serve() {
  must(serve_->signal(SIGKILL), "kill serve");
  must(serve_->wait(kPatience), "serve does not end");
  serve_.reset();
}

void Server::kill_executor() {
  const pid_t pid = executor_pid();
  if (pid <= 0) throw std::runtime_error("there is no executor to kill");
  ::kill(pid, SIGKILL);
}

void Server::wait_for_end() {
  must(serve_->wait(kPatience), "serve does not end without its executor");
  serve_.reset();
}

void Server::resume() const {
  for (const MarkedProcess& process : processes())
    if (process.is_stopped) ::kill(process.pid, SIGCONT);
}

pid_t Server::serve_pid() const { return serve_ ? serve_->pid() : 0; }

pid_t Server::executor_pid() const {
  for (const MarkedProcess& process : processes())
    if (process.command.contains(" executor --private")) return process.pid;
  return 0;
}

std::vector<LivingAttempt> Server::living() const {
  std::vector<LivingAttempt> list;
  const std::string records = "/run/proofhouse/attempts/" + instance_;
  for (const std::string& name : os::list_directory(records).value_or(std::vector<std::string>())) {
    const Document record(os::read_file(records + "/" + name).value_or(std::string()));
    if (!record.has("/attempt")) continue;
    list.push_back({.attempt = record.at("/attempt"),
                    .fence = record.number("/fence"),
                    .pid = static_cast<pid_t>(record.number("/process/pid")),
                    .jail = static_cast<pid_t>(record.number("/jail/pid"))});
  }
  return list;
}

std::vector<MarkedProcess> Server::processes() const {
  return processes_with(
      {.place = fs::path(place()).filename(), .cgroup = "proofhouse-" + instance_});
}

HttpClient Server::as(const std::string& name) const {
  return {url_, name.empty() ? std::string() : tokens_.at(name)};
}

std::string Server::add_example(const std::string& name) const {
  const std::string checkout = place() + "/" + name;
  fs::copy(source_dir() / "tests/examples" / name, checkout, fs::copy_options::recursive);
  fs::remove_all(checkout + "/build");
  run_program({"git", "init", "-q", "-b", "main", "."}, checkout);
  run_program({"git", "add", "-A"}, checkout);
  run_program({"git", "commit", "-q", "-m", "Start " + name}, checkout);
  // Serve keeps a copy of its own.
  run_program({"chmod", "-R", "a+rX", checkout}, checkout);
  const HttpAnswer added = as("admin").post(
      "/v1/projects", R"({"name":")" + name + R"(","target":"refs/heads/main","import":true,)" +
                          R"("repository":")" + checkout + R"("})");
  if (added.status != 201)
    throw std::runtime_error("adding " + name + " answered " + std::to_string(added.status) + " " +
                             added.body + added.error);
  return checkout;
}

HttpAnswer Server::submit(const TaskBody& body, const std::string& key) const {
  constexpr int kTries = 5;
  HttpHeaders headers;
  if (!key.empty()) headers["Idempotency-Key"] = key;
  HttpAnswer answer;
  for (int tries = 0; tries < kTries && (tries == 0 || answer.status == 503); ++tries)
    answer = as("ada").post("/v1/tasks", body.json(), headers);
  return answer;
}

std::string Server::post(const TaskBody& body, const std::string& key) const {
  const HttpAnswer answer = submit(body, key);
  if (answer.status != 202)
    throw std::runtime_error("POST answered " + std::to_string(answer.status) + " " + answer.body +
                             answer.error + "\n" + this->log());
  return answer.at("/id");
}

Document Server::task(const std::string& id) const {
  return as("admin").get("/v1/tasks/" + id).document();
}

Document Server::wait_for(const std::string& id, const std::string& state, seconds limit) const {
  Document task;
  const bool is_there = wait_until(
      [&] {
        task = as("admin").get("/v1/tasks/" + id + (task.has("/id") ? "?wait=5" : "")).document();
        return task.at("/state") == state || task.at("/state") == "done";
      },
      limit);
  EXPECT_TRUE(is_there) << id << " is " << task.at("/state") << " after " << limit.count() << " s\n"
                        << this->log();
  return task;
}

HttpAnswer Server::decide(const std::string& name, const std::string& id,
                          const std::string& decision) const {
  const HttpAnswer seen = as("admin").get("/v1/tasks/" + id);
  std::map<std::string, std::string> body{{"decision", decision},
                                          {"commit", seen.at("/candidate/commit")}};
  if (decision == "refuse") body["reason"] = "not now";
  return as(name).post("/v1/tasks/" + id + "/approvals", object_of(body),
                       {{"If-Match", seen.header("etag")}});
}

std::vector<StreamEvent> Server::events(const std::string& id) const {
  std::vector<StreamEvent> events;
  as("admin").events("/v1/tasks/" + id + "/events", {}, [&](const StreamEvent& event) {
    if (event.type == "end") return false;
    events.push_back(event);
    return true;
  });
  return events;
}

CommandEnd Server::run(const std::string& name, const std::vector<std::string>& arguments) const {
  os::SpawnRequest request;
  request.program = program_path("proofhouse");
  request.arguments = arguments;
  request.environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/nonexistent",
                         "PROOFHOUSE_URL=" + url_,
                         "PROOFHOUSE_TOKEN_FILE=" + place() + "/tokens/" + name};
  request.directory = sample_->checkout();
  const os::Captured done = must(os::run_captured(request, kPatience), "proofhouse");
  return {.code = done.status.code, .output = done.output};
}

void Server::add_project(const std::string& name, const std::string& policy) const {
  const HttpAnswer answer =
      as("admin").post("/v1/projects", object_of({{"name", name},
                                                  {"repository", sample_->path()},
                                                  {"target", "refs/heads/main"},
                                                  {"policy", policy}}));
  if (answer.status != 201) throw std::runtime_error("project add: " + answer.body);
}

std::string Server::log() const {
  constexpr std::size_t kTail = 4000;
  const std::string text = os::read_file(place() + "/serve.log").value_or(std::string());
  return "the end of serve's log:\n" + text.substr(text.size() - std::min(text.size(), kTail));
}

void Server::expect_clean_end() {
  if (!serve_) start();
  rejudge_all();
  expect_free_leases();
  const os::ExitStatus status = stop();
  EXPECT_EQ(status.code, 0) << this->log();
  EXPECT_EQ(status.signal, 0) << this->log();
  expect_nothing_lives();
  expect_no_files();
}

void Server::rejudge_all() {
  const Document list = as("admin").get("/v1/tasks?limit=200").document();
  for (std::size_t i = 0; i < list.size("/tasks"); ++i) {
    const std::string task = "/tasks/" + std::to_string(i);
    const std::string id = list.at(task + "/id");
    EXPECT_EQ(list.at(task + "/state"), "done") << id << " did not come to its end";
    if (list.has(task + "/promotion")) landed_.insert(id);
    const HttpAnswer again = as("admin").post("/v1/tasks/" + id + "/rejudge", "{}");
    if (list.size(task + "/gates") == 0 && again.status == 409) continue;
    EXPECT_EQ(again.status, 200) << id << ": " << again.body;
    EXPECT_EQ(again.at("/same"), "true") << id << ": " << again.body;
    const HttpAnswer third = as("admin").post("/v1/tasks/" + id + "/rejudge", "{}");
    EXPECT_EQ(again.body, third.body) << id;
  }
}

void Server::expect_free_leases() const {
  Document machine;
  const bool is_free = wait_until(
      [&] {
        machine = as("admin").get("/v1/machines").document();
        return machine.number("/machines/0/cpus") > 0 &&
               machine.at("/machines/0/cpus_free") == machine.at("/machines/0/cpus") &&
               machine.at("/machines/0/memory_free") == machine.at("/machines/0/memory") &&
               machine.number("/machines/0/running") == 0 && living().empty();
      },
      seconds(30));
  EXPECT_TRUE(is_free) << "leases are held: " << machine.at("") << "\n" << this->log();
}

void Server::expect_nothing_lives() const {
  std::vector<std::string> alive;
  const bool is_still = wait_until(
      [&] {
        alive.clear();
        for (const MarkedProcess& process : processes())
          alive.push_back(std::to_string(process.pid) + " " + process.program + ": " +
                          process.command);
        return alive.empty();
      },
      seconds(30));
  EXPECT_TRUE(is_still) << "processes are left:" << lines_of(alive);
  const std::vector<std::string> mounts = mounts_with(fs::path(place()).filename());
  EXPECT_TRUE(mounts.empty()) << "mounts are left:" << lines_of(mounts);
  const std::vector<std::string> groups = cgroups_with("proofhouse-" + instance_);
  EXPECT_TRUE(groups.empty()) << "cgroups are left:" << lines_of(groups);
  const auto records = os::list_directory("/run/proofhouse/attempts/" + instance_)
                           .value_or(std::vector<std::string>());
  EXPECT_TRUE(records.empty()) << "the executor's records are left:" << lines_of(records);
}

// attempts/ keeps those that left no result, for diagnosis; quarantine/ the objects of what did not
// land, for a while.
void Server::expect_no_files() const {
  std::vector<std::string> left;
  for (const auto& entry : fs::recursive_directory_iterator(data() + "/attempts"))
    if (entry.path().filename() == "result.json") left.push_back(entry.path());
  for (const auto& entry : fs::directory_iterator(data() + "/quarantine"))
    if (landed_.contains(entry.path().filename())) left.push_back(entry.path());
  for (const auto& entry : fs::recursive_directory_iterator(data()))
    if (entry.path().extension() == ".tmp") left.push_back(entry.path());
  for (const auto& entry : fs::directory_iterator(data() + "/trees"))
    if (entry.path().filename().string().size() != 40) left.push_back(entry.path());
  EXPECT_TRUE(left.empty()) << "files are left:" << lines_of(left);
}

}  // namespace tests
