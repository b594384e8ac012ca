// Attacks of group E by system calls: each asks for something that would open the kernel further.
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "tests/guests/attack.h"

namespace {

using guest::Arguments;
using guest::held;
using guest::judge;
using guest::judge_probe;
using guest::reached;

int unshare_user(Arguments /*unused*/) { return judge(::unshare(CLONE_NEWUSER), "user namespace"); }

int clone_user(Arguments /*unused*/) {
  const long child = ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (child == 0) ::_exit(0);
  return judge(child, "user namespace");
}

struct CloneArguments {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
      set_tid_size, cgroup;
};

long clone3(std::uint64_t flags) {
  CloneArguments arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  return child;
}

int clone3_user(Arguments /*unused*/) { return judge(clone3(CLONE_NEWUSER), "user namespace"); }

// CLONE_INTO_CGROUP (include/uapi/linux/sched.h) with descriptor 0, which is no group: EBADF tells
// that the kernel looked.
int clone3_cgroup(Arguments /*unused*/) { return judge_probe(clone3(0x2'0000'0000ULL)); }

int io_uring(Arguments /*unused*/) {
  std::array<unsigned, 30> parameters{};
  return judge(::syscall(SYS_io_uring_setup, 1, parameters.data()), "a ring");
}

int aio(Arguments /*unused*/) {
  unsigned long context = 0;
  return judge(::syscall(SYS_io_setup, 1, &context), "a context");
}

int perf(Arguments /*unused*/) {
  perf_event_attr event{};
  event.type = PERF_TYPE_SOFTWARE;
  event.size = sizeof event;
  event.config = PERF_COUNT_SW_CPU_CLOCK;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  return judge(::syscall(SYS_perf_event_open, &event, 0, -1, -1, 0), "an event");
}

int userfault(Arguments /*unused*/) { return judge(::syscall(SYS_userfaultfd, 1), "a descriptor"); }

int secret_memory(Arguments /*unused*/) { return judge_probe(::syscall(SYS_memfd_secret, 0)); }

int session_keyring(Arguments /*unused*/) {
  // KEYCTL_GET_KEYRING_ID of KEY_SPEC_SESSION_KEYRING (man 2 keyctl).
  return judge(::syscall(SYS_keyctl, 0, -3, 0), "the session keyring");
}

int find_key(Arguments arguments) {
  // KEYCTL_SEARCH in KEY_SPEC_SESSION_KEYRING.
  return judge(::syscall(SYS_keyctl, 10, -3, "user", arguments[0], 0), arguments[0]);
}

int file_handle(Arguments /*unused*/) {
  struct {
    unsigned bytes = 128;
    int type = 0;
    char handle[128] = {};
  } handle;
  int mount = 0;
  return judge_probe(::syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &mount, 0));
}

int open_handle(Arguments /*unused*/) {
  return judge_probe(::syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0));
}

int local_descriptors(Arguments /*unused*/) {
  std::array<char, 64> buffer{};
  return judge(::syscall(SYS_modify_ldt, 0, buffer.data(), buffer.size()), "the table");
}

int steal_descriptor(Arguments /*unused*/) {
  const long self = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  return judge(::syscall(SYS_pidfd_getfd, self, 0, 0), "a descriptor");
}

int open_tree(Arguments /*unused*/) {
  return judge(::syscall(SYS_open_tree, AT_FDCWD, "/", 0), "a mount");
}

int compare(Arguments /*unused*/) {
  return judge_probe(::syscall(SYS_kcmp, ::getpid(), ::getpid(), 0, 0, 1));
}

int persona(Arguments /*unused*/) {
  // READ_IMPLIES_EXEC (man 2 personality).
  return judge(::syscall(SYS_personality, 0x0400000), "another personality");
}

int socket_of(Arguments arguments) {
  return judge_probe(::syscall(SYS_socket, std::stol(arguments[0], nullptr, 0),
                               std::stol(arguments[1]), std::stol(arguments[2])));
}

int terminal(Arguments arguments) {
  return judge_probe(::syscall(SYS_ioctl, 1, std::stoul(arguments[0], nullptr, 0), "x"));
}

int whiteout(Arguments /*unused*/) {
  return judge(::mknod("whiteout", S_IFCHR | 0644, 0), "a whiteout of overlayfs");
}

// getpid of the x32 interface: a filter that looks at numbers alone does not know it. Whatever it
// answers, the kernel was asked.
int foreign_call(Arguments /*unused*/) {
  const long answer = ::syscall(0x4000'0000L + SYS_getpid);
  return reached("the kernel: " + std::to_string(answer));
}

constexpr guest::Attack kAttacks[] = {
    {"unshare_user", unshare_user},
    {"clone_user", clone_user},
    {"clone3_user", clone3_user},
    {"clone3_cgroup", clone3_cgroup},
    {"io_uring", io_uring},
    {"aio", aio},
    {"perf", perf},
    {"userfault", userfault},
    {"secret_memory", secret_memory},
    {"session_keyring", session_keyring},
    {"find_key", find_key},
    {"file_handle", file_handle},
    {"open_handle", open_handle},
    {"local_descriptors", local_descriptors},
    {"steal_descriptor", steal_descriptor},
    {"open_tree", open_tree},
    {"compare", compare},
    {"persona", persona},
    {"socket", socket_of},
    {"terminal", terminal},
    {"whiteout", whiteout},
    {"foreign_call", foreign_call},
};

}  // namespace

int main(int count, char** arguments) { return guest::run(kAttacks, count, arguments); }
