#include "runner/executor/executor_main.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <list>
#include <map>
#include <utility>

#include "runner/executor/gpu_desk.h"
#include "runner/executor/protocol.h"
#include "sandbox/cgroup.h"
#include "sandbox/os/files.h"

namespace runner {
namespace {

using std::chrono::steady_clock;

// An attempt that ended leaves its jail this long to clean up before it is forced.
constexpr std::chrono::seconds kCleanup{15};
constexpr std::size_t kMaxClients = 16;
constexpr std::size_t kMaxAttempts = 1000;

struct Client {
  os::Fd socket;
  LineBuffer lines;
};

class ExecutorLoop {
 public:
  ExecutorLoop(const ExecutorOptions& options, LivingRecords records, sandbox::CgroupHost cgroups)
      : options_(options), records_(std::move(records)), cgroups_(std::move(cgroups)) {}

  os::Result<void> prepare();
  int run();

 private:
  ExecutorProbe probe() const;
  void wait_once();
  void look_after_attempts();
  void finish(Living& living);
  // Removes the groups of an attempt; those of the whole instance once none runs any more.
  os::Result<void> sweep(const Living& ended) const;
  void accept_client();
  void read_client(Client& client);
  ExecutorAnswer answer(const ExecutorRequest& request);
  os::Result<void> start(const AttemptStart& start);
  os::Result<void> check_lease(const AttemptStart& start) const;
  os::Result<void> cancel(const CancelCall& call);
  os::Result<void> remove(const RemoveCall& call);
  os::Result<void> cordon(const CordonCall& call);
  void tell(const AttemptStatusReport& changed);
  static AttemptStatusReport report(const Living& living);
  Living* find(const tasks::AttemptId& attempt, std::int64_t fence);

  const ExecutorOptions& options_;
  LivingRecords records_;
  sandbox::CgroupHost cgroups_;
  ExecutorProbe probe_;
  std::unique_ptr<GpuDesk> gpus_;  // null: no GPU can be leased here
  std::map<std::string, Living> living_;
  std::list<Client> clients_;
  os::Fd listener_, signals_;
  bool stop_ = false;
};

os::Result<os::Fd> listen_at(const ExecutorOptions& options) {
  os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options.socket_path.size() >= sizeof address.sun_path)
    return os::fail(os::Code::invalid, "socket path is too long: " + options.socket_path);
  std::memcpy(address.sun_path, options.socket_path.c_str(), options.socket_path.size());
  ::unlink(options.socket_path.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 16) != 0)
    return os::fail_errno("listen at " + options.socket_path);
  // Who may write here may start attempts: root and serve's group.
  if (::chown(options.socket_path.c_str(), 0, options.serve_gid) != 0 ||
      ::chmod(options.socket_path.c_str(), 0660) != 0)
    return os::fail_errno("set rights of " + options.socket_path);
  return socket;
}

os::Result<void> ExecutorLoop::prepare() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = os::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (options_.socket >= 0) {
    ::fcntl(options_.socket, F_SETFD, FD_CLOEXEC);
    clients_.push_back({os::Fd(options_.socket), {}});
  } else {
    listener_ = TRY(listen_at(options_));
  }
  for (Living& living : TRY(records_.recover())) {
    const std::string key = living.key();
    living_.emplace(key, std::move(living));
  }
  probe_ = probe();
  gpus_ = GpuDesk::open(options_, probe_.gpu_problem);
  if (gpus_ && living_.empty()) gpus_->sweep();
  if (living_.empty()) TRY(cgroups_.sweep("proofhouse-" + options_.instance));
  return {};
}

ExecutorProbe ExecutorLoop::probe() const {
  ExecutorProbe probe;
  probe.version = options_.version;
  probe.features = sandbox::probe_host();
  probe.missing = sandbox::missing_features(probe.features, options_.gaps_allowed);
  probe.cpus = sandbox::available_cpus();
  if (options_.max_cpus > 0 && probe.cpus.size() > static_cast<std::size_t>(options_.max_cpus))
    probe.cpus.resize(static_cast<std::size_t>(options_.max_cpus));
  const os::Result<os::Bytes> memory = sandbox::total_memory();
  probe.memory = options_.max_memory.count > 0 ? options_.max_memory
                 : memory                      ? os::Bytes{memory->count / 5 * 4}
                                               : os::Bytes{1ULL << 30U};
  const os::Result<std::string> digest = sandbox::environment_digest(options_.read_only_paths);
  if (digest) probe.environment_sha256 = *digest;
  const bool is_full = std::ranges::all_of(
      probe.features, [](const sandbox::Feature& f) { return f.present || !f.required; });
  probe.level = is_full ? "full" : "reduced";
  return probe;
}

int ExecutorLoop::run() {
  look_after_attempts();
  while (!stop_) {
    wait_once();
    look_after_attempts();
    if (gpus_) gpus_->serve();
    if (options_.socket >= 0 && clients_.empty()) stop_ = true;
  }
  return 0;
}

void ExecutorLoop::wait_once() {
  std::vector<pollfd> polls;
  polls.push_back({.fd = signals_.get(), .events = POLLIN, .revents = 0});
  polls.push_back({.fd = listener_.get(), .events = POLLIN, .revents = 0});
  for (const Client& client : clients_)
    polls.push_back({.fd = client.socket.get(), .events = POLLIN, .revents = 0});
  bool is_waiting = false;
  for (const auto& [key, living] : living_) {
    if (living.state != AttemptState::running) continue;
    if (!living.process.has_ended())
      polls.push_back({.fd = living.process.pidfd(), .events = POLLIN, .revents = 0});
    if (!living.jail.has_ended())
      polls.push_back({.fd = living.jail.pidfd(), .events = POLLIN, .revents = 0});
    is_waiting = is_waiting || living.kill_at.has_value();
  }
  if (gpus_) gpus_->add_polls(polls);
  const int limit = gpus_ ? gpus_->poll_limit() : -1;
  if (::poll(polls.data(), polls.size(), is_waiting ? 100 : limit) < 0) return;
  if (polls[0].revents != 0) stop_ = true;
  std::size_t at = 2;
  for (auto client = clients_.begin(); client != clients_.end(); ++at) {
    if (polls[at].revents != 0) read_client(*client);
    client = client->socket.is_open() ? std::next(client) : clients_.erase(client);
  }
  if (polls[1].revents != 0) accept_client();
}

void ExecutorLoop::look_after_attempts() {
  for (auto& [key, living] : living_) {
    if (living.state != AttemptState::running) continue;
    const bool attempt_ended = living.process.has_ended();
    const bool jail_ended = living.jail.has_ended();
    if (attempt_ended && jail_ended) {
      finish(living);
    } else if ((attempt_ended || jail_ended) && !living.kill_at) {
      living.kill_at = steady_clock::now() + kCleanup;
    } else if (living.kill_at && steady_clock::now() >= *living.kill_at) {
      living.process.signal(SIGKILL);
      living.jail.signal(SIGKILL);
    }
  }
}

void ExecutorLoop::finish(Living& living) {
  living.process.reap();
  living.jail.reap();
  if (gpus_) gpus_->leave(living.key());
  living.slots.clear();
  living.cpus.clear();
  living.memory = {};
  living.state = AttemptState::ended;
  // A jail removes its groups itself, unless it was killed.
  const os::Result<void> swept = sweep(living);
  if (!swept)
    std::fprintf(stderr, "proofhouse executor: cgroups of %s stay behind: %s\n",
                 living.key().c_str(), swept.error().message.c_str());
  records_.erase(living);
  tell(report(living));
}

os::Result<void> ExecutorLoop::sweep(const Living& ended) const {
  os::Result<sandbox::Cgroup> group = sandbox::Cgroup::open(
      cgroups_, attempt_cgroup(options_.instance, ended.attempt, ended.fence));
  if (group)
    TRY(group->remove());
  else if (group.error().code != os::Code::not_found)
    return std::unexpected(group.error());
  const bool is_last = std::ranges::none_of(
      living_, [](const auto& entry) { return entry.second.state == AttemptState::running; });
  if (is_last) TRY(cgroups_.sweep("proofhouse-" + options_.instance));
  return {};
}

AttemptStatusReport ExecutorLoop::report(const Living& living) {
  return {living.attempt, living.fence, living.state, living.detail};
}

void ExecutorLoop::tell(const AttemptStatusReport& changed) {
  ExecutorAnswer message;
  message.changed = changed;
  for (Client& client : clients_)
    if (!os::write_all(client.socket.get(), encode(message))) client.socket.close();
  std::erase_if(clients_, [](const Client& client) { return !client.socket.is_open(); });
}

void ExecutorLoop::accept_client() {
  os::Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open() || clients_.size() >= kMaxClients) return;
  // One that does not read what it is told is closed: it must not hold up the attempts of all.
  constexpr timeval kSendLimit{.tv_sec = 1, .tv_usec = 0};
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendLimit, sizeof kSendLimit) != 0)
    return;
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  if (peer.uid != 0 && peer.uid != options_.serve_uid && peer.gid != options_.serve_gid) return;
  clients_.push_back({std::move(socket), {}});
}

void ExecutorLoop::read_client(Client& client) {
  std::array<char, 65536> buffer{};
  const ssize_t got = ::read(client.socket.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0 || !client.lines.append({buffer.data(), static_cast<std::size_t>(got)})) {
    client.socket.close();
    return;
  }
  while (const std::optional<std::string> line = client.lines.next()) {
    const os::Result<ExecutorRequest> request = decode_executor_request(*line);
    ExecutorAnswer reply;
    if (request)
      reply = answer(*request);
    else
      reply.error = request.error();
    if (!os::write_all(client.socket.get(), encode(reply))) {
      client.socket.close();
      return;
    }
  }
}

ExecutorAnswer ExecutorLoop::answer(const ExecutorRequest& request) {
  ExecutorAnswer reply;
  reply.id = request.id;
  os::Result<void> done;
  if (std::holds_alternative<ProbeCall>(request.call)) {
    reply.probe = probe_;
    if (gpus_) reply.probe->gpus = gpus_->list();
  }
  if (const auto* call = std::get_if<CordonCall>(&request.call)) done = cordon(*call);
  if (const auto* call = std::get_if<StartCall>(&request.call)) done = start(call->start);
  if (const auto* call = std::get_if<CancelCall>(&request.call)) done = cancel(*call);
  if (const auto* call = std::get_if<RemoveCall>(&request.call)) done = remove(*call);
  if (std::holds_alternative<ListCall>(request.call))
    for (const auto& [key, living] : living_) reply.attempts.push_back(report(living));
  if (!done) reply.error = done.error();
  return reply;
}

Living* ExecutorLoop::find(const tasks::AttemptId& attempt, std::int64_t fence) {
  const auto found = living_.find(attempt.str() + "." + std::to_string(fence));
  return found == living_.end() ? nullptr : &found->second;
}

os::Result<void> ExecutorLoop::check_lease(const AttemptStart& start) const {
  if (start.cpus.empty()) return {};
  std::uint64_t memory = start.memory.count;
  for (const auto& [key, living] : living_) {
    if (living.state != AttemptState::running) continue;
    memory += living.memory.count;
    for (const int cpu : start.cpus)
      if (std::ranges::find(living.cpus, cpu) != living.cpus.end())
        return os::fail(os::Code::conflict, "CPU " + std::to_string(cpu) + " is leased to " + key);
  }
  if (memory > probe_.memory.count)
    return os::fail(os::Code::conflict, "not enough memory is free for " + start.attempt.str());
  for (const int cpu : start.cpus)
    if (std::ranges::find(probe_.cpus, cpu) == probe_.cpus.end())
      return os::fail(os::Code::invalid, "CPU " + std::to_string(cpu) + " cannot be leased");
  return {};
}

os::Result<void> ExecutorLoop::start(const AttemptStart& start) {
  if (find(start.attempt, start.fence) != nullptr) return {};
  if (!probe_.missing.empty())
    return os::fail(os::Code::unavailable,
                    "the sandbox lacks " + probe_.missing.front() + "; run `proofhouse doctor`");
  // Those that ended wait for their removal, without a process.
  const auto running = std::ranges::count_if(
      living_, [](const auto& entry) { return entry.second.state == AttemptState::running; });
  if (std::cmp_greater_equal(running, kMaxAttempts))
    return os::fail(os::Code::exhausted, "too many attempts are kept; remove ended ones");
  const os::Fd directory = TRY(open_attempt_directory(options_, start.attempt, start.fence));
  if (is_locked(directory.get()))
    return os::fail(os::Code::conflict, start.attempt.str() + " is run by somebody else");
  TRY(check_lease(start));
  const std::string key = start.attempt.str() + "." + std::to_string(start.fence);
  DeskSeat desk;
  if (gpus_ && start.kind == tasks::AttemptKind::verify) desk = TRY(gpus_->prepare(key));
  os::Result<Living> launched = launch(options_, start, desk);
  if (!launched && gpus_) gpus_->leave(key);
  Living living = TRY(std::move(launched));
  if (gpus_) gpus_->seat(living);
  const os::Result<void> recorded = records_.write(living);
  if (!recorded) {
    living.process.signal(SIGKILL);
    living.jail.signal(SIGKILL);
    return recorded;
  }
  living_.emplace(key, std::move(living));
  return {};
}

os::Result<void> ExecutorLoop::cordon(const CordonCall& call) {
  if (!gpus_) return os::fail(os::Code::not_found, "this machine leases no GPU");
  return gpus_->set_cordon(call.uuid, call.is_cordoned, call.reason);
}

os::Result<void> ExecutorLoop::cancel(const CancelCall& call) {
  Living* living = find(call.attempt, call.fence);
  if (living == nullptr || living->state != AttemptState::running) return {};
  living->process.signal(SIGTERM);
  if (!living->kill_at) living->kill_at = steady_clock::now() + call.grace;
  return {};
}

os::Result<void> ExecutorLoop::remove(const RemoveCall& call) {
  const Living* living = find(call.attempt, call.fence);
  if (living != nullptr && living->state == AttemptState::running)
    return os::fail(os::Code::conflict, call.attempt.str() + " still runs");
  const os::Fd data = TRY(os::open_file(options_.data, O_RDONLY | O_DIRECTORY));
  const os::Result<os::Fd> parent =
      os::open_beneath(data.get(), "attempts/" + call.attempt.str(), O_RDONLY | O_DIRECTORY);
  if (parent) {
    TRY(os::remove_tree_at(parent->get(), std::to_string(call.fence)));
    // The last fence takes the attempt's directory with it; others keep it.
    const os::Fd attempts = TRY(os::open_beneath(data.get(), "attempts", O_RDONLY | O_DIRECTORY));
    ::unlinkat(attempts.get(), call.attempt.str().c_str(), AT_REMOVEDIR);
  }
  living_.erase(call.attempt.str() + "." + std::to_string(call.fence));
  return {};
}

os::Result<int> run_loop(const ExecutorOptions& options) {
  LivingRecords records = TRY(LivingRecords::open(options.instance));
  sandbox::CgroupHost cgroups = TRY(sandbox::CgroupHost::detect());
  ExecutorLoop loop(options, std::move(records), std::move(cgroups));
  TRY(loop.prepare());
  return loop.run();
}

}  // namespace

int run_executor(const ExecutorOptions& options) {
  const os::Result<int> code = run_loop(options);
  if (code) return *code;
  std::fprintf(stderr, "proofhouse executor: %s\n", code.error().message.c_str());
  return 3;
}

}  // namespace runner
