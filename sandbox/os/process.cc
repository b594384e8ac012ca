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

// What a child does between fork and exec. Everything is made before the fork: another thread may
// have held an allocator's lock at that moment, and in the child nobody would ever release it.
class Setup {
 public:
  explicit Setup(const SpawnRequest& request)
      : request_(request), parent_(::getpid()), descriptors_(request.descriptors) {
    for (const std::string& entry : request.environment) environment_.push_back(entry.c_str());
    environment_.push_back(nullptr);
    descriptors_.emplace_back(request.standard_input, STDIN_FILENO);
    descriptors_.emplace_back(request.standard_output, STDOUT_FILENO);
    descriptors_.emplace_back(request.standard_error < 0 ? STDERR_FILENO : request.standard_error,
                              STDERR_FILENO);
  }

  char* const* environment() const { return const_cast<char* const*>(environment_.data()); }

  // In the child. False, with errno, where a step failed.
  bool enter() {
    if (request_.new_session && ::setsid() < 0) return false;
    if (!pass_descriptors() || !drop_rights()) return false;
    if (request_.die_with_parent) {
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return false;
      if (::getppid() != parent_) ::_exit(EXIT_FAILURE);
    }
    if (!request_.directory.empty() && ::chdir(request_.directory.c_str()) != 0) return false;
    ::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    return ::sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
  }

 private:
  bool pass_descriptors() {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (auto& [ours, theirs] : descriptors_) {
      ours = ::fcntl(ours < 0 ? null : ours, F_DUPFD_CLOEXEC, kStaging);
      if (ours < 0) return false;
    }
    if (::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return false;
    for (const auto& [ours, theirs] : descriptors_)
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
  std::vector<std::pair<int, int>> descriptors_;
  std::vector<const char*> environment_;
};

// A launcher as those of Boost.Process. Its default one asks the I/O services of the child after
// the fork, and so allocates there; where exec fails it runs exit handlers there and leaves a
// zombie.
class Launcher : private bp::posix::default_launcher {
 public:
  bp::process operator()(boost::asio::any_io_executor executor, bp::error_code& error,
                         const bp::filesystem::path& program,
                         const std::vector<std::string>& arguments, Setup& setup) {
    char* const* const argv = const_cast<char* const*>(build_argv_(program, arguments));
    const auto give_up = [&] {
      error = last_error();
      return bp::process(executor);
    };
    std::array<int, 2> raw{};
    if (::pipe2(raw.data(), O_CLOEXEC) != 0) return give_up();
    const Fd reader(raw[0]);
    Fd low(raw[1]);
    // Above every number that the child is given.
    Fd writer(::fcntl(low.get(), F_DUPFD_CLOEXEC, kStaging));
    if (!writer.is_open()) return give_up();
    pid = ::fork();
    if (pid == 0) {
      if (setup.enter()) ::execve(program.c_str(), argv, setup.environment());
      const int number = errno;
      [[maybe_unused]] const ssize_t told = ::write(writer.get(), &number, sizeof number);
      ::_exit(EXIT_FAILURE);
    }
    if (pid < 0) return give_up();
    low.close();
    writer.close();
    error = read_failure(reader.get());
    if (error) {
      while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
      }
      return bp::process(executor);
    }
    return bp::process(executor, pid);
  }

 private:
  // Until exec has closed the other end: what the child says, or nothing.
  static bp::error_code read_failure(int pipe) {
    int number = 0;
    ssize_t got = 0;
    do {
      got = ::read(pipe, &number, sizeof number);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return last_error();
    return got == 0 ? bp::error_code() : bp::error_code(number, boost::system::system_category());
  }
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
  bp::process process = Launcher()(context.get_executor(), error, bp::filesystem::path(program),
                                   request.arguments, setup);
  if (error) return fail_errno(error.value(), "start " + program);
  const pid_t pid = static_cast<pid_t>(process.id());
  process.detach();
  Fd pidfd(pidfd_open(pid));
  if (!pidfd.is_open()) {
    const auto failure = fail_errno("pidfd_open");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failure;
  }
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
