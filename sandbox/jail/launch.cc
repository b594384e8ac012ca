#include "sandbox/jail/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "sandbox/ablation.h"

namespace sandbox::jail {
namespace {

constexpr int kNamespaces = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
constexpr std::size_t kStackBytes = 256U << 10U;
constexpr std::size_t kGuardBytes = 4096;
// Milliseconds that a sandbox may take to be made; on a host that hangs it ends there.
constexpr int kPatience = 60'000;

Report lost(std::string_view step) {
  Report report;
  step.copy(report.step.data(), report.step.size() - 1);
  return report;
}

struct Network {
  int descriptor = -1;
  int error = 0;
};

// Opens into the jail's own table of descriptors.
int open_network(void* argument) {
  auto& network = *static_cast<Network*>(argument);
  const os::Result<void> raised = raise_loopback();
  if (!raised) network.error = raised.error().sys_errno;
  if (raised) network.descriptor = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (raised && network.descriptor < 0) network.error = errno;
  return 0;
}

}  // namespace

os::Result<Pipe> make_pipe() {
  std::array<int, 2> raw{};
  if (::pipe2(raw.data(), O_CLOEXEC) != 0) return os::fail_errno("make a pipe");
  Pipe pipe{os::Fd(raw[0]), os::Fd(raw[1])};
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) return os::fail_errno("set pipe flags");
  return pipe;
}

os::Result<Stack> Stack::make() {
  void* base = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return os::fail_errno("map a stack");
  Stack stack(static_cast<char*>(base));
  if (::mprotect(base, kGuardBytes, PROT_NONE) != 0) return os::fail_errno("guard a stack");
  return stack;
}

Stack::Stack(Stack&& other) noexcept : base_(std::exchange(other.base_, nullptr)) {}

Stack::~Stack() {
  if (base_ != nullptr) ::munmap(base_, kStackBytes);
}

char* Stack::top() const { return base_ + kStackBytes; }

Launch::Launch(Place place, std::unique_ptr<Stacks> stacks) : stacks_(std::move(stacks)) {
  setup_.place = std::move(place);
  setup_.stack = stacks_->command.top();
}

Launch::~Launch() { end(); }

std::unique_ptr<Stacks> Launch::end() {
  if (supervisor_ >= 0) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), SIGKILL, nullptr, 0);
    while (::waitpid(supervisor_, nullptr, 0) < 0 && errno == EINTR) continue;
    supervisor_ = -1;
  }
  return std::move(stacks_);
}

os::Result<void> Launch::start() {
  report_ = TRY(make_pipe());
  setup_.report = report_.write.get();
  jail_ = os::Fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!jail_.is_open()) return os::fail_errno("open our own pidfd");
  setup_.jail = jail_.get();
  const int spaces = kNamespaces | (setup_.place.network < 0 ? CLONE_NEWNET : 0);
  const int flags = CLONE_VM | CLONE_FILES | CLONE_PIDFD | SIGCHLD | namespaces_left(spaces);
  int pidfd = -1;
  const pid_t pid = ::clone(supervise, stacks_->supervisor.top(), flags, &setup_, &pidfd);
  // The new process may have set errno meanwhile, but only if there is one.
  if (pid < 0) return os::fail_errno("clone into new namespaces");
  supervisor_ = pid;
  pidfd_ = os::Fd(pidfd);
  return {};
}

Report Launch::next_report() {
  std::array<pollfd, 2> fds{pollfd{report_.read.get(), POLLIN, 0}, pollfd{pidfd_.get(), POLLIN, 0}};
  int ready = -1;
  while (ready < 0) ready = ::poll(fds.data(), fds.size(), kPatience);
  if (ready == 0) return lost("start the command: too slow");
  Report report;
  // What it told before it ended is still there.
  if (::read(report_.read.get(), &report, sizeof(report)) != sizeof(report))
    return lost("supervisor ended");
  report.step.back() = '\0';
  return report;
}

// The command's process has failed: the supervisor is still about to confine itself.
void Launch::settle() { static_cast<void>(next_report()); }

os::Result<std::unique_ptr<Launch>> Launch::ahead(Place place, std::unique_ptr<Stacks> stacks) {
  std::unique_ptr<Launch> launch = cold(std::move(place), std::move(stacks));
  launch->go_ = os::Fd(::eventfd(0, EFD_CLOEXEC));
  if (!launch->go_.is_open()) return os::fail_errno("make an event descriptor");
  launch->setup_.go = launch->go_.get();
  TRY(launch->start());
  const Report report = launch->next_report();
  if (report.kind == Report::Kind::ready) return launch;
  launch->settle();
  return os::fail_errno(report.error_number, report.step.data());
}

std::unique_ptr<Launch> Launch::cold(Place place, std::unique_ptr<Stacks> stacks) {
  return std::unique_ptr<Launch>(new Launch(std::move(place), std::move(stacks)));
}

os::Result<Report> Launch::execute(Order order) {
  setup_.order = std::move(order);
  if (!go_.is_open()) {
    TRY(start());
  } else {
    const std::uint64_t one = 1;
    if (::write(go_.get(), &one, sizeof(one)) != sizeof(one)) return os::fail_errno("start");
  }
  Report report = next_report();
  if (report.kind == Report::Kind::failed) settle();
  // From here on the supervisor has a copy of its own.
  report_.write.close();
  return report;
}

os::Result<os::Fd> make_network_namespace(Stacks& stacks) {
  Network network;
  const pid_t holder =
      ::clone(open_network, stacks.command.top(),
              CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNET | SIGCHLD, &network);
  if (holder < 0) return os::fail_errno("clone into a network namespace");
  while (::waitpid(holder, nullptr, 0) < 0 && errno == EINTR) continue;
  os::Fd space(network.descriptor);
  if (!space.is_open()) return os::fail_errno(network.error, "make a network namespace");
  return space;
}

}  // namespace sandbox::jail
