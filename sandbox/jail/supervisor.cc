#include "sandbox/jail/supervisor.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <vector>

#include "sandbox/os/fd.h"

namespace sandbox::jail {
namespace {

// The supervisor's own user inside: the command can neither signal nor trace it.
constexpr std::uint32_t kSupervisorUid = 999;

// Where the supervisor keeps its two descriptors, above all that it inherits.
constexpr int kReport = 512;
constexpr int kUserNamespace = 513;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

void tell(int report, const Report& what) {
  // Nobody is left to be told of a failure here.
  [[maybe_unused]] const ssize_t written = ::write(report, &what, sizeof(what));
}

[[noreturn]] void give_up(int report, const os::Error& error) {
  Report what;
  what.kind = Report::Kind::failed;
  what.error_number = error.sys_errno;
  step_of(error).copy(what.step.data(), what.step.size() - 1);
  tell(report, what);
  ::_exit(125);
}

// The loopback device of the new network namespace (man 7 netdevice).
os::Result<void> raise_loopback() {
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return os::fail_errno("open socket for loopback");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return os::fail_errno("raise loopback");
  return {};
}

os::Result<void> set_up_host_name() {
  constexpr std::string_view kName = "proofhouse";
  if (::sethostname(kName.data(), kName.size()) != 0) return os::fail_errno("set host name");
  // The domain name would otherwise be the host's.
  if (::setdomainname("", 0) != 0) return os::fail_errno("set domain name");
  return {};
}

os::Result<void> join_cgroup(const std::vector<int>& descriptors) {
  for (const int descriptor : descriptors)
    if (::write(descriptor, "0", 1) != 1) return os::fail_errno("join cgroup");
  // From here on the command's own group is the root that it can see.
  if (::unshare(CLONE_NEWCGROUP) != 0 && errno != EINVAL)
    return os::fail_errno("unshare cgroup namespace");
  return {};
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Descriptors 0 to 2, and nothing above once exec has closed the rest.
os::Result<void> set_descriptors(const CommandSetup& setup) {
  const int input = ::open("/dev/null", O_RDONLY);
  if (input < 0) return os::fail_errno("open /dev/null");
  if (::dup2(input, 0) < 0 || ::dup2(setup.output, 1) < 0 || ::dup2(setup.error_output, 2) < 0)
    return os::fail_errno("set descriptors");
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return os::fail_errno("close descriptors");
  return {};
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (const std::string& text : strings) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// In the command's process: everything up to exec.
os::Result<void> run_command(const CommandSetup& setup) {
  const RunRequest& request = *setup.request;
  const std::vector<char*> arguments = pointers(request.command);
  const std::vector<char*> environment = pointers(request.environment);
  TRY(join_cgroup(setup.join));
  if (::setsid() < 0) return os::fail_errno("start a session");
  ::umask(022);
  TRY(set_resource_limits(request.limits));
  TRY(leave_keyrings());
  if (::chdir(working_directory(request).c_str()) != 0)
    return os::fail_errno("enter " + working_directory(request));
  TRY(set_descriptors(setup));
  reset_signals();
  TRY(drop_privileges(setup.user_namespace, kInnerUid));
  TRY(load_seccomp(*setup.seccomp));
  ::execve(arguments[0], arguments.data(), environment.data());
  return os::fail_errno("execute " + request.command[0]);
}

// Nothing of the supervisor is of use to the command, and it has no right of its own.
os::Result<void> confine_supervisor(const CommandSetup& setup) {
  if (::dup3(setup.user_namespace, kUserNamespace, O_CLOEXEC) < 0)
    return os::fail_errno("set descriptors of the supervisor");
  if (::close_range(0, kReport - 1, 0) != 0 || ::close_range(kUserNamespace + 1, ~0U, 0) != 0)
    return os::fail_errno("close descriptors of the supervisor");
  TRY(leave_keyrings());
  TRY(drop_privileges(kUserNamespace, kSupervisorUid));
  ::close(kUserNamespace);
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return os::fail_errno("become undumpable");
  // After the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return os::fail_errno("set death signal");
  pollfd jail{kReport, 0, 0};
  if (::poll(&jail, 1, 0) > 0 && (jail.revents & POLLERR) != 0) ::_exit(0);
  return {};
}

void note_full(const char* path, Report& report) {
  struct statfs info{};
  if (::statfs(path, &info) != 0) return;
  if (info.f_bavail == 0) report.disk_full = 1;
  if (info.f_ffree == 0) report.inodes_full = 1;
}

[[noreturn]] void reap(pid_t command) {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == command) {
      Report what;
      what.kind = Report::Kind::ended;
      what.status = status;
      what.time_ns = now_ns();
      for (const char* path : {"/tmp", "/dev/shm", "/home/build"}) note_full(path, what);
      tell(kReport, what);
    }
    // Children of others may become ours at any time, of which no signal tells process 1.
    if (ended < 0 && errno == ECHILD) ::poll(nullptr, 0, 10);
  }
}

int become_command(void* setup) {
  give_up(kReport, run_command(*static_cast<const CommandSetup*>(setup)).error());
}

// Like vfork(2), on a stack of its own: the command's process borrows the supervisor's memory until
// it executes, so nothing is copied. What it reports, it reports before this returns.
pid_t start_command(CommandSetup setup) {
  alignas(16) static std::array<char, 256U << 10U> stack;
  const pid_t command = ::clone(become_command, stack.data() + stack.size(),
                                CLONE_VM | CLONE_VFORK | SIGCHLD, &setup);
  if (command < 0) give_up(kReport, os::fail_errno("start the command's process").error());
  return command;
}

os::Result<void> prepare(const CommandSetup& setup) {
  TRY(raise_loopback());
  TRY(set_up_host_name());
  return enter_root(setup);
}

}  // namespace

std::string step_of(const os::Error& error) {
  if (error.sys_errno == 0) return error.message;
  const char* text = ::strerrordesc_np(error.sys_errno);
  const std::string suffix = std::string(": ") + (text != nullptr ? text : "");
  return error.message.ends_with(suffix)
             ? error.message.substr(0, error.message.size() - suffix.size())
             : error.message;
}

void supervise(const CommandSetup& setup) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::dup3(setup.report, kReport, O_CLOEXEC) < 0)
    give_up(setup.report, os::fail_errno("set descriptors of the supervisor").error());
  if (const os::Result<void> prepared = prepare(setup); !prepared)
    give_up(kReport, prepared.error());
  const pid_t command = start_command(setup);
  Report what;
  what.kind = Report::Kind::started;
  what.time_ns = now_ns();
  tell(kReport, what);
  if (const os::Result<void> confined = confine_supervisor(setup); !confined)
    give_up(kReport, confined.error());
  reap(command);
}

}  // namespace sandbox::jail
