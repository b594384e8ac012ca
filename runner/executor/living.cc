#include "runner/executor/living.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include <nlohmann/json.hpp>

#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

constexpr int kRecordSchema = 1;

json process_json(const WatchedProcess& process) {
  return {{"pid", process.pid()}, {"start", process.start_time()}};
}

WatchedProcess process_from(const json& object) {
  os::Result<WatchedProcess> process =
      WatchedProcess::open(object.value("pid", -1), object.value("start", std::uint64_t{0}));
  return process ? std::move(*process) : WatchedProcess();
}

os::Result<Living> living_from(const std::string& path) {
  const json object = TRY(sandbox::parse_json(TRY(os::read_file(path, std::size_t{1} << 16U))));
  if (!object.is_object() || object.value("schema", 0) != kRecordSchema)
    return os::fail(os::Code::corrupt, "record of another version: " + path);
  Living living;
  living.attempt = tasks::AttemptId(object.value("attempt", std::string()));
  living.fence = object.value("fence", std::int64_t{0});
  living.process = process_from(object.value("process", json::object()));
  living.jail = process_from(object.value("jail", json::object()));
  living.cpus = object.value("cpus", std::vector<int>());
  living.slot_numbers = object.value("slots", std::vector<int>());
  living.memory = os::Bytes{object.value("memory", std::uint64_t{0})};
  return living;
}

}  // namespace

os::Result<WatchedProcess> WatchedProcess::open(pid_t pid, std::uint64_t start_time) {
  if (pid <= 0) return os::fail(os::Code::not_found, "no process");
  WatchedProcess process;
  process.pidfd_ = os::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd_.is_open()) return os::fail_errno("pidfd_open");
  // Compared after the pidfd holds the process: a reused pid has another start time.
  const std::uint64_t actual = TRY(os::process_start_time(pid));
  if (start_time != 0 && actual != start_time)
    return os::fail(os::Code::not_found, "the process has ended");
  process.pid_ = pid;
  process.start_time_ = actual;
  return process;
}

bool WatchedProcess::has_ended() const {
  if (!is_open()) return true;
  pollfd poll_for{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll_for, 1, 0) == 1;
}

void WatchedProcess::signal(int number) const {
  if (is_open()) ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

void WatchedProcess::reap() const {
  siginfo_t info{};
  if (is_open()) ::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED | WNOHANG);
}

os::Result<LivingRecords> LivingRecords::open(const std::string& instance) {
  std::string directory = "/run/proofhouse/attempts/" + instance;
  TRY(os::make_directories(directory, 0755));
  return LivingRecords(std::move(directory));
}

LivingRecords::~LivingRecords() {
  // Empty in one that was moved from; a directory that still has records stays.
  if (!directory_.empty()) ::rmdir(directory_.c_str());
}

os::Result<void> LivingRecords::write(const Living& living) const {
  // The executor before us may have ended, and removed it, after we opened it.
  TRY(os::make_directories(directory_, 0755));
  const json object{{"schema", kRecordSchema},
                    {"attempt", living.attempt.str()},
                    {"fence", living.fence},
                    {"process", process_json(living.process)},
                    {"jail", process_json(living.jail)},
                    {"slots", living.slot_numbers},
                    {"cpus", living.cpus},
                    {"memory", living.memory.count}};
  return os::write_file_durably(directory_ + "/" + living.key(), sandbox::dump_json(object), 0600);
}

void LivingRecords::erase(const Living& living) const {
  ::unlink((directory_ + "/" + living.key()).c_str());
}

os::Result<std::vector<Living>> LivingRecords::recover() const {
  std::vector<Living> list;
  for (const std::string& name : TRY(os::list_directory(directory_))) {
    const std::string path = directory_ + "/" + name;
    os::Result<Living> living = living_from(path);
    // An executor that was killed while it wrote left its record whole, or not, under a name that
    // was to be another's.
    const bool is_kept =
        living && (name == living->key() ||
                   ::rename(path.c_str(), (directory_ + "/" + living->key()).c_str()) == 0);
    if (is_kept)
      list.push_back(std::move(*living));
    else
      ::unlink(path.c_str());
  }
  return list;
}

}  // namespace runner
