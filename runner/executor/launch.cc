#include "runner/executor/launch.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "sandbox/jail_client.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"

namespace runner {
namespace {

// One range for each sandbox::Domain.
constexpr int kDomains = 4;

os::Result<std::vector<std::string>> names_in(int directory) {
  os::Fd copy = TRY(os::open_beneath(directory, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(copy.get()), ::closedir);
  if (stream == nullptr) return os::fail_errno("list attempt directory");
  copy.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// Gives what serve staged to the attempt. Only plain files with one name and directories are taken:
// anything else would let the directory's owner aim this chown elsewhere.
os::Result<void> give(int directory, uid_t uid, gid_t gid, int depth) {
  if (depth == 0) return os::fail(os::Code::invalid, "attempt directory is too deep");
  for (const std::string& name : TRY(names_in(directory))) {
    const os::Fd entry = TRY(os::open_beneath(directory, name, O_RDONLY | O_NONBLOCK));
    struct stat info{};
    if (::fstat(entry.get(), &info) != 0) return os::fail_errno("stat " + name);
    const bool is_directory = S_ISDIR(info.st_mode);
    if (!is_directory && (!S_ISREG(info.st_mode) || info.st_nlink != 1))
      return os::fail(os::Code::denied, name + " in an attempt directory is no plain file");
    if (is_directory) TRY(give(entry.get(), uid, gid, depth - 1));
    if (::fchown(entry.get(), uid, gid) != 0) return os::fail_errno("chown " + name);
    // World-readable inside a directory that only the attempt and serve can enter: a jail's command
    // has another uid and sees it through a read-only mount.
    if (::fchmod(entry.get(), is_directory ? 02755 : 0644) != 0)
      return os::fail_errno("chmod " + name);
  }
  return {};
}

std::vector<std::string> child_environment() {
  std::vector<std::string> environment{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
  if (const char* failpoint = std::getenv("PROOFHOUSE_FAILPOINT"))
    environment.push_back(std::string("PROOFHOUSE_FAILPOINT=") + failpoint);
  return environment;
}

struct Descriptors {
  os::Fd attempt, trees, layers, repository, programs, log;
};

os::Result<Descriptors> open_descriptors(const ExecutorOptions& options, const AttemptStart& start,
                                         os::Fd attempt) {
  Descriptors open;
  open.attempt = std::move(attempt);
  open.trees = TRY(os::open_file(options.data + "/trees", O_RDONLY | O_DIRECTORY));
  open.layers = TRY(os::open_file(options.data + "/layers", O_RDONLY | O_DIRECTORY));
  open.programs = TRY(os::open_file(options.programs, O_RDONLY | O_DIRECTORY));
  if (!start.repository.empty())
    open.repository = TRY(os::open_file(start.repository, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  open.log =
      TRY(os::open_beneath(open.attempt.get(), "attempt.log", O_WRONLY | O_CREAT | O_APPEND, 0640));
  return open;
}

os::Result<os::ChildProcess> start_attempt(const ExecutorOptions& options, uid_t uid,
                                           const Descriptors& open, int socket, int desk) {
  os::SpawnRequest request;
  request.program = options.programs + "/attempt";
  request.environment = child_environment();
  request.standard_output = open.log.get();
  request.standard_error = open.log.get();
  request.descriptors = {{socket, sandbox::kSocketFd},
                         {open.attempt.get(), sandbox::kAttemptDirFd}};
  if (desk >= 0) request.descriptors.emplace_back(desk, sandbox::kExecutorFd);
  request.new_session = true;
  request.uid = uid;
  request.gid = uid;
  request.directory = "/";
  return os::ChildProcess::spawn(request);
}

sandbox::Bounds bounds_of(const ExecutorOptions& options, const AttemptStart& start,
                          const std::vector<sandbox::IdSlot>& slots) {
  sandbox::Bounds bounds;
  bounds.attempt = start.attempt.str();
  bounds.cgroup = attempt_cgroup(options.instance, start.attempt, start.fence);
  for (const sandbox::IdSlot& slot : slots) bounds.ids.push_back(slot.range());
  bounds.attempt_uid = slots.front().outside_uid();
  bounds.attempt_gid = options.serve_gid;
  // Without a lease (an ingest) any CPU will do.
  bounds.cpus = start.cpus.empty() ? sandbox::available_cpus() : start.cpus;
  bounds.memory = start.memory;
  bounds.gaps_allowed = options.gaps_allowed;
  bounds.read_only_paths = options.read_only_paths;
  return bounds;
}

}  // namespace

std::string attempt_cgroup(const std::string& instance, const tasks::AttemptId& attempt,
                           std::int64_t fence) {
  return "proofhouse-" + instance + "/" + attempt.str() + "." + std::to_string(fence);
}

os::Result<os::Fd> open_attempt_directory(const ExecutorOptions& options,
                                          const tasks::AttemptId& attempt, std::int64_t fence) {
  const os::Fd data = TRY(os::open_file(options.data, O_RDONLY | O_DIRECTORY));
  return os::open_beneath(data.get(), "attempts/" + attempt.str() + "/" + std::to_string(fence),
                          O_RDONLY | O_DIRECTORY);
}

bool is_locked(int attempt_directory) {
  const os::Result<os::Fd> lock =
      os::open_beneath(attempt_directory, "lock", O_RDONLY | O_NONBLOCK);
  return lock && ::flock(lock->get(), LOCK_SH | LOCK_NB) != 0;
}

std::vector<int> lock_fds(const std::vector<sandbox::IdSlot>& slots) {
  std::vector<int> locks;
  for (const sandbox::IdSlot& slot : slots) locks.push_back(slot.lock_fd());
  return locks;
}

os::Result<Living> launch(const ExecutorOptions& options, const AttemptStart& start,
                          const DeskSeat& desk) {
  os::Fd directory = TRY(open_attempt_directory(options, start.attempt, start.fence));
  Living living;
  living.attempt = start.attempt;
  living.fence = start.fence;
  living.cpus = start.cpus;
  if (!start.cpus.empty()) living.memory = start.memory;
  for (int i = 0; i < kDomains; ++i) {
    living.slots.push_back(TRY(sandbox::IdSlot::take(options.first_id, options.id_slots)));
    living.slot_numbers.push_back(living.slots.back().index());
  }
  const uid_t uid = living.slots.front().outside_uid();
  TRY(give(directory.get(), uid, options.serve_gid, 8));
  if (::fchown(directory.get(), uid, options.serve_gid) != 0 ||
      ::fchmod(directory.get(), 02750) != 0)
    return os::fail_errno("give attempt directory");
  const Descriptors open = TRY(open_descriptors(options, start, std::move(directory)));
  std::array<os::Fd, 2> sockets = TRY(os::seqpacket_pair());
  sandbox::Bounds bounds = bounds_of(options, start, living.slots);
  bounds.driver_files = desk.driver_files;
  os::ChildProcess jail = TRY(sandbox::start_jail({.program = options.programs + "/jail",
                                                   .bounds = std::move(bounds),
                                                   .attempt_directory = open.attempt.get(),
                                                   .trees = open.trees.get(),
                                                   .layers = open.layers.get(),
                                                   .repository = open.repository.get(),
                                                   .directory = -1,
                                                   .programs = open.programs.get(),
                                                   .grants = desk.grants.get(),
                                                   .standard_error = open.log.get(),
                                                   .held = lock_fds(living.slots)},
                                                  sockets[0].get()));
  os::ChildProcess attempt =
      TRY(start_attempt(options, uid, open, sockets[1].get(), desk.socket.get()));
  living.jail = TRY(WatchedProcess::open(jail.pid(), 0));
  living.process = TRY(WatchedProcess::open(attempt.pid(), 0));
  jail.detach();
  attempt.detach();
  return living;
}

}  // namespace runner
