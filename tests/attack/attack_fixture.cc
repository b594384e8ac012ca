#include "tests/attack/attack_fixture.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include "sandbox/cgroup.h"
#include "sandbox/os/ids.h"
#include "tests/support/capability.h"
#include "tests/support/programs.h"

namespace tests {
namespace {

namespace fs = std::filesystem;
using sandbox::OutcomeKind;
using sandbox::RunRequest;
using sandbox::RunResult;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kGuests[] = {"attack_call", "attack_escape", "attack_exhaust", "attack_read"};
// Beyond every limit of a row, also on a busy machine.
constexpr std::chrono::seconds kPatience{20};
// Beyond the deadlines of a row that is to end by one.
constexpr std::chrono::seconds kDeadlinePatience{5};

// Readable when the time is over.
os::Fd timer(std::chrono::seconds time) {
  os::Fd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec spec{};
  spec.it_value.tv_sec = time.count();
  ::timerfd_settime(fd.get(), 0, &spec, nullptr);
  return fd;
}

template <class Condition>
bool wait_for(std::chrono::seconds limit, Condition condition) {
  const auto deadline = steady_clock::now() + limit;
  while (!condition()) {
    if (steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

// Microseconds a period of 100 ms that a group may use, v1 or v2; empty: without bound.
std::string quota_of(const std::string& group) {
  std::string quota;
  std::ifstream v1(group + "/cpu.cfs_quota_us");
  std::ifstream v2(group + "/cpu.max");
  if (!(v1 >> quota) && !(v2 >> quota)) return {};
  return quota == "-1" || quota == "max" ? "" : quota;
}

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) last = line;
  return last;
}

}  // namespace

void AttackTest::SetUp() {
  JailTest::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  REQUIRE_BUILT(guest_path("attack_call"));
  mark_ = "proofhouse-attack-" + os::random_hex(6);
  lay_out_files();
  lay_out_services();
}

void AttackTest::lay_out_files() {
  programs = *directory / "programs";
  fs::create_directory(programs);
  for (const char* const name : kGuests) fs::copy_file(guest_path(name), programs + "/" + name);
  fs::copy_file(guest_path("attack_escape"), programs + "/set_uid");
  ASSERT_EQ(::chmod((programs + "/set_uid").c_str(), 04755), 0);
  write_file(programs + "/writable", "x");
  ASSERT_EQ(::chmod((programs + "/writable").c_str(), 0666), 0);
  // Anybody may open it on the host (10:229, fuse), and nothing comes of it.
  ASSERT_EQ(::mknod((programs + "/node").c_str(), S_IFCHR | 0666, ::makedev(10, 229)), 0);
  ASSERT_EQ(::chmod((programs + "/node").c_str(), 0666), 0);
  write_file(trees + "/secret", "secret");
  write_file(*directory / "leak/secret", "secret");
  ASSERT_EQ(::chmod(trees.c_str(), 0755), 0);
}

void AttackTest::lay_out_services() {
  listener_ = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ASSERT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), length), 0);
  ASSERT_EQ(::listen(listener_.get(), 64), 0);
  ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
  port_ = std::to_string(ntohs(address.sin_port));

  abstract_listener_ = os::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  mark_.copy(name.sun_path + 1, sizeof name.sun_path - 1);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + mark_.size());
  ASSERT_EQ(::bind(abstract_listener_.get(), reinterpret_cast<const sockaddr*>(&name), length), 0);
  ASSERT_EQ(::listen(abstract_listener_.get(), 64), 0);

  segment_key_ = 0x50000000 + ::getpid();
  segment_ = ::shmget(segment_key_, 4096, IPC_CREAT | IPC_EXCL | 0666);
  ASSERT_GE(segment_, 0);
  const mqd_t queue = ::mq_open(("/" + mark_).c_str(), O_RDWR | O_CREAT | O_EXCL, 0666, nullptr);
  ASSERT_GE(queue, 0);
  ::fchmod(queue, 0666);
  ::mq_close(queue);

  ASSERT_GE(::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr), 0);
  ASSERT_GE(::syscall(SYS_add_key, "user", mark_.c_str(), "secret", 6, KEY_SPEC_SESSION_KEYRING),
            0);
}

void AttackTest::TearDown() {
  if (segment_ >= 0) ::shmctl(segment_, IPC_RMID, nullptr);
  if (!mark_.empty()) ::mq_unlink(("/" + mark_).c_str());
  if (!is_shipped_) {
    client.reset();
    if (jail) static_cast<void>(jail->wait(std::chrono::seconds(10)).has_value());
    clean_up();
  }
  JailTest::TearDown();
}

// As careless as a launcher can be: see the class.
void AttackTest::write_launcher(JailKind kind, const std::string& left_out) const {
  const std::string jail_program =
      kind == JailKind::shipped ? program_path("jail").string() : PROOFHOUSE_JAIL_ABLATED;
  write_file(program, "#!/bin/sh\nexec 9< " + (*directory / "leak") +
                          "\nexport PROOFHOUSE_ABLATE=" + left_out +
                          "\nulimit -c unlimited 2> /dev/null\nexec setpriv --groups 4,24 " +
                          jail_program + "\n");
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
}

void AttackTest::start_jail(JailKind kind, const std::string& left_out) {
  if (client != nullptr) {
    client.reset();
    static_cast<void>(jail->wait(std::chrono::seconds(30)).has_value());
  }
  if (!is_shipped_) clean_up();
  program = *directory / "launch";
  is_shipped_ = kind == JailKind::shipped;
  write_launcher(kind, left_out);
  start();
}

std::string AttackTest::expand(const std::string& word) const {
  if (word == "@PORT") return port_;
  if (word == "@SOCKET" || word == "@KEY") return mark_;
  if (word == "@QUEUE") return "/" + mark_;
  if (word == "@SEGMENT") return std::to_string(segment_key_);
  constexpr std::string_view kDirectory = "@DIRECTORY";
  if (word.starts_with(kDirectory)) return directory->path() + word.substr(kDirectory.size());
  return word;
}

RunRequest AttackTest::make_request(const Row& row, const std::vector<std::string>& command) {
  RunRequest run = request("r" + std::to_string(runs_++), "");
  run.command = {"/proofhouse/" + command[0]};
  for (std::size_t at = 1; at < command.size(); ++at) run.command.push_back(expand(command[at]));
  run.limits.memory = os::Bytes{192U << 20U};
  run.limits.disk = os::Bytes{16U << 20U};
  run.limits.shm = os::Bytes{16U << 20U};
  run.limits.pids = 64;
  run.limits.wall = std::chrono::seconds(60);
  if (row.shape) row.shape(run);
  if (row.scene == Scene::collected) run.collect = {{"secret", "out/secret"}};
  return run;
}

std::string AttackTest::answer_of(const RunRequest& run, const RunResult& result) const {
  if (result.outcome.kind == OutcomeKind::cancelled) return "REACHED the patience of the test";
  if (!result.outcome.is_success()) return describe(result.outcome);
  if (!result.collected.empty())
    return result.collected[0].error.empty() ? "REACHED a file beyond the link"
                                             : "held " + result.collected[0].error;
  return last_line(result.tail_bytes > 0 ? file("runs/" + run.id + "/tail") : head(run.id));
}

std::string AttackTest::run_bounded(const RunRequest& run) {
  const bool has_deadline =
      run.limits.wall < kDeadlinePatience || run.limits.idle < kDeadlinePatience;
  const os::Fd patience = timer(has_deadline ? kDeadlinePatience : kPatience);
  const os::Result<RunResult> result = client->run(run, patience.get());
  return result ? answer_of(run, *result) : "error: " + result.error().message;
}

std::string AttackTest::who_is_left() const {
  // By its name: a sandbox that waits for the next command has ids of the same range.
  const auto is_guest = [](const std::string& number) {
    std::ifstream file("/proc/" + number + "/comm");
    std::string name;
    std::getline(file, name);
    return name.starts_with("attack_");
  };
  // A result is told while its sandbox is still taken down.
  std::string guest;
  wait_for(std::chrono::seconds(2), [&] {
    const std::set<std::string> left = processes_of(slot->range());
    const auto found = std::ranges::find_if(left, is_guest);
    guest = found == left.end() ? std::string() : *found;
    return guest.empty();
  });
  return guest.empty() ? "held none is left" : "REACHED life as process " + guest;
}

// From outside: what a command may use is not to be seen within.
std::string AttackTest::play_quota(const RunRequest& run) {
  auto running = std::async(std::launch::async, [&] { return run_bounded(run); });
  const os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  std::string quota;
  wait_for(std::chrono::seconds(20), [&] {
    for (const std::string& group : host->list(cgroup_prefix).value_or(std::vector<std::string>{}))
      if (const std::string own = quota_of(group); !own.empty()) quota = own;
    return !quota.empty() || running.wait_for(milliseconds(0)) == std::future_status::ready;
  });
  running.wait();
  if (quota.empty()) return "REACHED time without bound";
  return quota == "100000" ? "held one CPU" : "REACHED a quota of " + quota;
}

// A link that one command leaves in a workspace, and a file to be cleared behind it.
std::string AttackTest::play_cleared(const Row& row) {
  sandbox::WorkspaceRequest workspace;
  workspace.name = "w" + std::to_string(runs_);
  const os::Result<void> opened = client->open_workspace(workspace);
  if (!opened) return "error: " + opened.error().message;
  write_file(trees + "/victim", "x");
  for (const bool clears : {false, true}) {
    RunRequest run = make_request(row, row.command);
    run.workspace = workspace.name;
    run.mode = sandbox::WorkspaceMode::shared;
    if (clears) {
      run.command = {"/bin/true"};
      run.clear = {"gone/victim"};
    }
    run_bounded(run);
  }
  const bool is_there = fs::exists(trees + "/victim");
  fs::remove(trees + "/victim");
  return is_there ? "held the file is there" : "REACHED a file beyond the link";
}

std::string AttackTest::play_killed_jail(const RunRequest& run) {
  auto running = std::async(std::launch::async, [&] { return run_bounded(run); });
  const bool runs = wait_for(std::chrono::seconds(20), [&] { return head(run.id) == "here\n"; });
  static_cast<void>(jail->signal(SIGKILL).has_value());
  static_cast<void>(jail->wait(std::chrono::seconds(20)).has_value());
  running.wait();
  client.reset();
  if (!runs) return "error: the guest did not start";
  wait_for(std::chrono::seconds(3), [&] { return processes_of(slot->range()).empty(); });
  std::string answer = who_is_left();
  // Its groups are for whoever starts the next jail.
  clean_up();
  return answer;
}

std::string AttackTest::play(const Row& row) {
  if (client == nullptr) return "error: no jail";
  if (!row.before.empty()) run_bounded(make_request(row, row.before));
  if (row.scene == Scene::cleared) return play_cleared(row);
  const RunRequest run = make_request(row, row.command);
  if (row.scene == Scene::quota) return play_quota(run);
  if (row.scene == Scene::killed_jail) return play_killed_jail(run);
  std::string answer = run_bounded(run);
  return row.scene == Scene::orphan ? who_is_left() : answer;
}

InventoryScope AttackTest::scope() const {
  return {slot->range(), directory->path(), cgroup_prefix};
}

void AttackTest::clean_up() {
  for (int round = 0; round < 50; ++round) {
    const std::set<std::string> left = processes_of(slot->range());
    if (left.empty()) break;
    for (const std::string& number : left) ::kill(std::stoi(number), SIGKILL);
    std::this_thread::sleep_for(milliseconds(20));
  }
  os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  if (host) static_cast<void>(host->sweep(cgroup_prefix).has_value());
}

}  // namespace tests
