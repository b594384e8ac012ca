#include "sandbox/os/process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <boost/asio/io_context.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/process.hpp>

namespace os {
namespace {

namespace bp = boost::process::v2;

// Descriptors handed on are first moved here, so that no target overwrites a later source.
constexpr int kStaging = 512;

bp::error_code last_error() { return {errno, boost::system::system_category()}; }

// Boost.Process initializer: what happens in the child between fork and exec.
class Setup {
 public:
  explicit Setup(const SpawnRequest& request) : request_(request), parent_(::getpid()) {
    for (const std::string& entry : request.environment) environment_.push_back(entry.c_str());
    environment_.push_back(nullptr);
  }

  bp::error_code on_setup(bp::posix::default_launcher& launcher, const bp::filesystem::path&,
                          const char* const*) {
    launcher.env = environment_.data();
    for (const auto& [ours, theirs] : request_.descriptors) launcher.fd_whitelist.push_back(theirs);
    return {};
  }

  bp::error_code on_exec_setup(bp::posix::default_launcher& launcher, const bp::filesystem::path&,
                               const char* const*) {
    // Boost wants this list in order, and appends its own pipe to it.
    std::ranges::sort(launcher.fd_whitelist);
    if (request_.new_session && ::setsid() < 0) return last_error();
    if (!pass_descriptors() || !drop_rights()) return last_error();
    if (request_.die_with_parent) {
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return last_error();
      if (::getppid() != parent_) ::_exit(EXIT_FAILURE);
    }
    if (!request_.directory.empty() && ::chdir(request_.directory.c_str()) != 0)
      return last_error();
    ::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    return {};
  }

 private:
  bool pass_descriptors() {
    std::vector<std::pair<int, int>> all = request_.descriptors;
    all.emplace_back(request_.standard_input, STDIN_FILENO);
    all.emplace_back(request_.standard_output, STDOUT_FILENO);
    all.emplace_back(request_.standard_error < 0 ? STDERR_FILENO : request_.standard_error,
                     STDERR_FILENO);
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (auto& [ours, theirs] : all) {
      ours = ::fcntl(ours < 0 ? null : ours, F_DUPFD_CLOEXEC, kStaging);
      if (ours < 0) return false;
    }
    // Boost 1.81 leaves open what lies between the numbers of its list.
    if (::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return false;
    for (const auto& [ours, theirs] : all)
      if (::dup2(ours, theirs) < 0) return false;
    return true;
  }

  bool drop_rights() const {
    if (!request_.gid && !request_.uid) return true;
    if (::setgroups(0, nullptr) != 0) return false;
    if (request_.gid && ::setresgid(*request_.gid, *request_.gid, *request_.gid) != 0) return false;
    return !request_.uid || ::setresuid(*request_.uid, *request_.uid, *request_.uid) == 0;
  }

  const SpawnRequest& request_;
  pid_t parent_;
  std::vector<const char*> environment_;
};

Result<std::string> find_program(const SpawnRequest& request) {
  if (!request.search_path || request.program.find('/') != std::string::npos)
    return request.program;
  const bp::filesystem::path found = bp::environment::find_executable(request.program);
  if (found.empty()) return fail(Code::not_found, request.program + " is not in PATH");
  return found.string();
}

int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

Result<ChildProcess> ChildProcess::spawn(const SpawnRequest& request) {
  const std::string program = TRY(find_program(request));
  boost::asio::io_context context;
  bp::error_code error;
  Setup setup(request);
  // With the executor instead of its context: that overload drops the error and throws.
  auto process = bp::posix::default_launcher()(
      context.get_executor(), error, bp::filesystem::path(program), request.arguments, setup);
  if (error) return fail_errno(error.value(), "start " + program);
  const pid_t pid = static_cast<pid_t>(process.id());
  process.detach();
  Fd pidfd(pidfd_open(pid));
  if (!pidfd.is_open()) return fail_errno("pidfd_open");
  return ChildProcess(pid, std::move(pidfd));
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), ended_(other.ended_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(pidfd_, other.pidfd_);
  std::swap(ended_, other.ended_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || ended_) return;
  static_cast<void>(signal(SIGKILL).has_value());
  static_cast<void>(wait().has_value());
}

Result<ExitStatus> ChildProcess::wait(std::optional<std::chrono::milliseconds> limit) {
  if (ended_) return *ended_;
  pollfd poll_for{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  const auto deadline = std::chrono::steady_clock::now() + limit.value_or(std::chrono::hours(1));
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const int timeout = limit ? static_cast<int>(std::max<std::int64_t>(left.count(), 0)) : -1;
    const int ready = ::poll(&poll_for, 1, timeout);
    if (ready == 1) break;
    if (ready == 0) return fail(Code::timeout, "process still runs");
    if (errno != EINTR) return fail_errno("poll process");
  }
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd_.get()), &info, WEXITED) != 0)
    return fail_errno("wait for process");
  ended_ = info.si_code == CLD_EXITED ? ExitStatus{.code = info.si_status, .signal = 0}
                                      : ExitStatus{.code = 0, .signal = info.si_status};
  return *ended_;
}

Result<void> ChildProcess::signal(int number) {
  if (ended_) return {};
  if (::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) != 0 && errno != ESRCH)
    return fail_errno("signal process");
  return {};
}

void ChildProcess::detach() { pid_ = -1; }

Result<Captured> run_captured(SpawnRequest request, std::chrono::milliseconds limit,
                              std::size_t output_limit) {
  std::array<int, 2> raw{};
  if (::pipe2(raw.data(), O_CLOEXEC) != 0) return fail_errno("pipe");
  const Fd reader(raw[0]);
  Fd writer(raw[1]);
  request.standard_output = writer.get();
  ChildProcess child = TRY(ChildProcess::spawn(request));
  writer.close();
  Captured captured;
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::array<char, 65536> buffer{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return fail(Code::timeout, request.program + " ran past its limit");
    pollfd poll_for{.fd = reader.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&poll_for, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return fail_errno("poll output");
    if (ready <= 0) continue;
    const ssize_t got = ::read(reader.get(), buffer.data(), buffer.size());
    if (got < 0 && errno != EINTR) return fail_errno("read output");
    if (got == 0) break;
    if (got > 0) captured.output.append(buffer.data(), static_cast<std::size_t>(got));
    if (captured.output.size() > output_limit)
      return fail(Code::exhausted, request.program + " printed too much");
  }
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline - std::chrono::steady_clock::now());
  captured.status = TRY(child.wait(std::max(left, std::chrono::milliseconds(0))));
  return captured;
}

}  // namespace os
