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
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "sandbox/ablation.h"
#include "sandbox/jail/landlock.h"
#include "sandbox/jail/raw_call.h"
#include "sandbox/os/fd.h"

namespace sandbox::jail {
namespace {

// The supervisor's own user inside: the command can neither signal nor trace it.
constexpr std::uint32_t kSupervisorUid = 999;

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// Nobody is left to be told of a failure here.
void tell(int report, const Report& what) {
  raw_call(SYS_write, report, raw_address(&what), sizeof(what));
}

Report failure(const os::Error& error) {
  Report what;
  what.kind = Report::Kind::failed;
  what.error_number = error.sys_errno;
  step_of(error).copy(what.step.data(), what.step.size() - 1);
  return what;
}

[[noreturn]] void give_up(int report, const Report& what) {
  tell(report, what);
  ::_exit(125);
}

os::Result<void> set_up_host_name() {
  // Without a namespace of its own these would be the host's.
  if (is_left_out(Layer::uts_namespace)) return {};
  constexpr std::string_view kName = "proofhouse";
  if (::sethostname(kName.data(), kName.size()) != 0) return os::fail_errno("set host name");
  // The domain name would otherwise be the host's.
  if (::setdomainname("", 0) != 0) return os::fail_errno("set domain name");
  return {};
}

os::Result<void> join_cgroup(const std::vector<int>& descriptors) {
  for (const int descriptor : descriptors)
    if (::write(descriptor, "0", 1) != 1) return os::fail_errno("join cgroup");
  if (is_left_out(Layer::cgroup_namespace)) return {};
  // From here on the command's own group is the root that it can see.
  if (::unshare(CLONE_NEWCGROUP) != 0 && errno != EINVAL)
    return os::fail_errno("unshare cgroup namespace");
  return {};
}

// The jail itself ignores only this one, and blocks a few.
void reset_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Descriptors 0 to 2 in a table of its own, and nothing above once exec has closed the rest.
os::Result<void> set_descriptors(const Order& order) {
  if (::unshare(CLONE_FILES) != 0) return os::fail_errno("unshare descriptors");
  const int input = order.input >= 0 ? order.input : ::open("/dev/null", O_RDONLY);
  if (input < 0) return os::fail_errno("open /dev/null");
  const int answer = order.answer >= 0 ? order.answer : order.output;
  if (::dup2(input, 0) < 0 || ::dup2(answer, 1) < 0 || ::dup2(order.error_output, 2) < 0)
    return os::fail_errno("set descriptors");
  if (is_left_out(Layer::close_descriptors)) return {};
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) return os::fail_errno("close descriptors");
  return {};
}

// What needs no order.
os::Result<void> prepare_command(const Place& place) {
  TRY(join_cgroup(place.join));
  if (!is_left_out(Layer::session) && ::setsid() < 0) return os::fail_errno("start a session");
  ::umask(022);
  TRY(leave_keyrings());
  reset_signals();
  return {};
}

os::Result<void> await_order(const CommandSetup& setup) {
  if (setup.go < 0) return {};
  Report what;
  what.kind = Report::Kind::ready;
  tell(setup.report, what);
  std::uint64_t value = 0;
  if (raw_call(SYS_read, setup.go, raw_address(&value), sizeof(value)) != sizeof(value))
    return os::fail(os::Code::internal, "wait for an order");
  return {};
}

os::Result<os::Fd> landlock_rules(const RunRequest& request) {
  if (is_left_out(Layer::landlock)) return os::Fd();
  return make_landlock_rules(writable_targets(request));
}

// Everything up to exec. No memory may be held at that moment: the jail would never get it back.
os::Result<void> run_command(const CommandSetup& setup) {
  TRY(prepare_command(setup.place));
  TRY(await_order(setup));
  const Order& order = setup.order;
  TRY(furnish_root(setup.place, order));
  if (::chdir(working_directory(*order.request).c_str()) != 0)
    return os::fail_errno("enter " + working_directory(*order.request));
  TRY(set_descriptors(order));
  // Made before the limit of open files, which the jail's own already exceed perhaps.
  const os::Fd rules = TRY(landlock_rules(*order.request));
  TRY(set_resource_limits(order.request->limits));
  TRY(drop_privileges(setup.place.user_namespace, kInnerUid));
  TRY(restrict_by_landlock(rules));
  TRY(load_seccomp(*order.seccomp));
  TRY(drop_capabilities());
  ::execve(order.arguments[0], order.arguments.data(), order.environment.data());
  return os::fail_errno("execute " + order.request->command[0]);
}

int become_command(void* argument) {
  const auto& setup = *static_cast<const CommandSetup*>(argument);
  const Report what = [&setup] { return failure(run_command(setup).error()); }();
  give_up(setup.report, what);
}

// Nothing of the supervisor is of use to the command, and it has no right of its own.
os::Result<void> confine_supervisor(const CommandSetup& setup) {
  TRY(leave_keyrings());
  if (!is_left_out(Layer::supervisor_rights)) {
    const bool own_user = !is_left_out(Layer::supervisor_user);
    TRY(drop_privileges(setup.place.user_namespace, own_user ? kSupervisorUid : kInnerUid));
    TRY(drop_capabilities());
  }
  // A table of its own, in which only the report is open.
  const auto report = static_cast<unsigned>(setup.report);
  if (::close_range(report + 1, ~0U, CLOSE_RANGE_UNSHARE) != 0 ||
      ::close_range(0, report - 1, 0) != 0)
    return os::fail_errno("close descriptors of the supervisor");
  const int dumpable = is_left_out(Layer::undumpable) ? 1 : 0;
  if (::prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0) != 0) return os::fail_errno("become undumpable");
  // After the change of user, which clears it.
  const int death = is_left_out(Layer::death_signal) ? 0 : SIGKILL;
  if (::prctl(PR_SET_PDEATHSIG, death, 0, 0, 0) != 0) return os::fail_errno("set death signal");
  pollfd jail{setup.report, 0, 0};
  if (::poll(&jail, 1, 0) > 0 && (jail.revents & POLLERR) != 0) ::_exit(0);
  // It cannot be loaded without no_new_privs.
  if (is_left_out(Layer::supervisor_filter) || is_left_out(Layer::no_new_privs)) return {};
  return load_supervisor_filter();
}

void note_full(const char* path, std::uint32_t& is_full, Report& report) {
  struct statfs info{};
  if (raw_call(SYS_statfs, raw_address(path), raw_address(&info)) != 0) return;
  if (info.f_bavail == 0) is_full = 1;
  if (info.f_ffree == 0) report.inodes_full = 1;
}

// Raw calls only: the jail runs again, with the same memory.
[[noreturn]] void reap(long command, int report) {
  while (true) {
    int status = 0;
    const long ended = raw_call(SYS_wait4, -1, raw_address(&status));
    if (ended == command) {
      Report what;
      what.kind = Report::Kind::ended;
      what.status = status;
      what.time_ns = now_ns();
      for (const char* path : {"/tmp", "/home/build"}) note_full(path, what.disk_full, what);
      note_full("/dev/shm", what.shm_full, what);
      tell(report, what);
    }
    // Children of others may become ours at any time, of which no signal tells process 1.
    if (ended == -ECHILD) raw_call(SYS_poll, 0, 0, 10);
  }
}

// The namespace given, or the new one that the supervisor was started in.
os::Result<void> enter_network(int network) {
  if (is_left_out(Layer::net_namespace)) return {};
  if (network < 0) return raise_loopback();
  if (::setns(network, CLONE_NEWNET) != 0) return os::fail_errno("enter network namespace");
  return {};
}

os::Result<void> prepare_supervisor(const CommandSetup& setup) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // It may have died before that.
  pollfd jail{setup.jail, POLLIN, 0};
  if (::poll(&jail, 1, 0) > 0) ::_exit(0);
  const Place& place = setup.place;
  TRY(enter_network(place.network));
  TRY(set_up_host_name());
  return enter_root(place);
}

}  // namespace

os::Result<void> raise_loopback() {
  const os::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return os::fail_errno("open socket for loopback");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return os::fail_errno("raise loopback");
  return {};
}

std::string step_of(const os::Error& error) {
  if (error.sys_errno == 0) return error.message;
  const char* text = ::strerrordesc_np(error.sys_errno);
  const std::string suffix = std::string(": ") + (text != nullptr ? text : "");
  return error.message.ends_with(suffix)
             ? error.message.substr(0, error.message.size() - suffix.size())
             : error.message;
}

int supervise(void* argument) {
  auto& setup = *static_cast<CommandSetup*>(argument);
  const int report = setup.report;
  Report what;
  what.kind = Report::Kind::started;
  if (const os::Result<void> prepared = prepare_supervisor(setup); !prepared)
    what = failure(prepared.error());
  if (what.kind == Report::Kind::failed) give_up(report, what);
  // Like vfork(2), on a stack of its own. It returns when the command executes or has failed.
  const long command = ::clone(become_command, setup.stack,
                               CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, argument);
  what.time_ns = now_ns();
  if (command < 0) what = failure(os::fail_errno("start the command's process").error());
  if (command >= 0)
    if (const os::Result<void> confined = confine_supervisor(setup); !confined)
      what = failure(confined.error());
  if (what.kind == Report::Kind::failed) give_up(report, what);
  tell(report, what);
  reap(command, report);
}

}  // namespace sandbox::jail
