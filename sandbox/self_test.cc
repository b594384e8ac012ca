#include "sandbox/self_test.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sandbox/seccomp_policy.h"

namespace sandbox {
namespace {

struct Call {
  const char* name;
  long number;
  std::array<long, 6> arguments;
  int step;    // the errno in the step profile
  int strict;  // in the strict profile
};

// No descriptor, no address.
constexpr long kBad = -1;
constexpr long kBadAddress = 1;

// clang-format off: a table, one call a line.
constexpr std::array kCalls{
    // Through: the errno is that of the call itself.
    Call{"read", SYS_read, {kBad}, EBADF, EBADF},
    Call{"write", SYS_write, {kBad}, EBADF, EBADF},
    Call{"openat", SYS_openat, {kBad, kBadAddress}, EFAULT, EFAULT},
    Call{"openat O_CREAT", SYS_openat, {kBad, kBadAddress, O_CREAT, 0755}, EFAULT, EFAULT},
    Call{"openat without mode", SYS_openat, {kBad, kBadAddress, 0, 04755}, EFAULT, EFAULT},
    Call{"execve", SYS_execve, {kBadAddress}, EFAULT, EFAULT},
    Call{"fchmodat", SYS_fchmodat, {kBad, kBadAddress, 0755}, EFAULT, EFAULT},
    Call{"mknodat FIFO", SYS_mknodat, {kBad, kBadAddress, S_IFIFO | 0644}, EFAULT, EFAULT},
    Call{"wait4", SYS_wait4, {kBad, 0, 0x1000}, EINVAL, EINVAL},
    Call{"kill", SYS_kill, {1, 65}, EINVAL, EINVAL},
    Call{"prctl", SYS_prctl, {kBad}, EINVAL, EINVAL},
    Call{"ioctl", SYS_ioctl, {kBad, TIOCGWINSZ}, EBADF, EBADF},
    Call{"socket AF_UNIX", SYS_socket, {AF_UNIX, 99}, EINVAL, EPERM},
    Call{"socket AF_INET", SYS_socket, {AF_INET, 99}, EINVAL, EPERM},
    Call{"connect", SYS_connect, {kBad}, EBADF, EPERM},
    Call{"ptrace", SYS_ptrace, {7, 0}, ESRCH, EPERM},
    Call{"process_vm_readv", SYS_process_vm_readv, {1, 0, 0, 0, 0}, 0, EPERM},
    Call{"mq_open", SYS_mq_open, {kBadAddress}, EFAULT, EPERM},
    Call{"shmctl", SYS_shmctl, {kBad, 0x1000}, EINVAL, EPERM},
    Call{"openat2", SYS_openat2, {kBad, kBadAddress, 0, 0}, ENOSYS, EINVAL},
    // New to the filter: as if the kernel did not have them.
    Call{"clone3", SYS_clone3, {0, 0}, ENOSYS, ENOSYS},
    Call{"personality", SYS_personality, {0x0800000}, ENOSYS, ENOSYS},
    Call{"a call of the future", 1000, {}, ENOSYS, ENOSYS},
    // Refused whatever the arguments.
    Call{"mount", SYS_mount, {kBadAddress, kBadAddress, kBadAddress}, EPERM, EPERM},
    Call{"umount2", SYS_umount2, {kBadAddress}, EPERM, EPERM},
    Call{"pivot_root", SYS_pivot_root, {kBadAddress, kBadAddress}, EPERM, EPERM},
    Call{"chroot", SYS_chroot, {kBadAddress}, EPERM, EPERM},
    Call{"open_tree", SYS_open_tree, {kBad, kBadAddress}, EPERM, EPERM},
    Call{"move_mount", SYS_move_mount, {kBad, kBadAddress, kBad, kBadAddress}, EPERM, EPERM},
    Call{"fsopen", SYS_fsopen, {kBadAddress}, EPERM, EPERM},
    Call{"fsconfig", SYS_fsconfig, {kBad}, EPERM, EPERM},
    Call{"fsmount", SYS_fsmount, {kBad}, EPERM, EPERM},
    Call{"mount_setattr", SYS_mount_setattr, {kBad}, EPERM, EPERM},
    Call{"unshare", SYS_unshare, {0x1}, EPERM, EPERM},
    Call{"setns", SYS_setns, {kBad}, EPERM, EPERM},
    Call{"bpf", SYS_bpf, {kBad}, EPERM, EPERM},
    Call{"perf_event_open", SYS_perf_event_open, {kBadAddress}, EPERM, EPERM},
    Call{"io_uring_setup", SYS_io_uring_setup, {0, 0}, EPERM, EPERM},
    Call{"io_uring_enter", SYS_io_uring_enter, {kBad}, EPERM, EPERM},
    Call{"io_uring_register", SYS_io_uring_register, {kBad}, EPERM, EPERM},
    Call{"io_setup", SYS_io_setup, {0, 0}, EPERM, EPERM},
    Call{"userfaultfd", SYS_userfaultfd, {kBad}, EPERM, EPERM},
    Call{"keyctl", SYS_keyctl, {kBad}, EPERM, EPERM},
    Call{"add_key", SYS_add_key, {kBadAddress}, EPERM, EPERM},
    Call{"request_key", SYS_request_key, {kBadAddress}, EPERM, EPERM},
    Call{"memfd_secret", SYS_memfd_secret, {kBad}, EPERM, EPERM},
    Call{"pidfd_getfd", SYS_pidfd_getfd, {kBad}, EPERM, EPERM},
    Call{"process_madvise", SYS_process_madvise, {kBad}, EPERM, EPERM},
    Call{"kcmp", SYS_kcmp, {kBad}, EPERM, EPERM},
    Call{"name_to_handle_at", SYS_name_to_handle_at, {kBad}, EPERM, EPERM},
    Call{"open_by_handle_at", SYS_open_by_handle_at, {kBad, kBadAddress}, EPERM, EPERM},
    Call{"fanotify_init", SYS_fanotify_init, {kBad}, EPERM, EPERM},
    Call{"quotactl", SYS_quotactl, {kBad, kBadAddress}, EPERM, EPERM},
    Call{"init_module", SYS_init_module, {kBadAddress}, EPERM, EPERM},
    Call{"finit_module", SYS_finit_module, {kBad}, EPERM, EPERM},
    Call{"delete_module", SYS_delete_module, {kBadAddress}, EPERM, EPERM},
    Call{"kexec_load", SYS_kexec_load, {0, kBad}, EPERM, EPERM},
    Call{"reboot", SYS_reboot, {0, 0}, EPERM, EPERM},
    Call{"swapon", SYS_swapon, {kBadAddress}, EPERM, EPERM},
    Call{"swapoff", SYS_swapoff, {kBadAddress}, EPERM, EPERM},
    Call{"acct", SYS_acct, {kBadAddress}, EPERM, EPERM},
    Call{"sethostname", SYS_sethostname, {0, kBad}, EPERM, EPERM},
    Call{"setdomainname", SYS_setdomainname, {0, kBad}, EPERM, EPERM},
    Call{"clock_settime", SYS_clock_settime, {0, kBadAddress}, EPERM, EPERM},
    Call{"settimeofday", SYS_settimeofday, {kBadAddress}, EPERM, EPERM},
    Call{"adjtimex", SYS_adjtimex, {kBadAddress}, EPERM, EPERM},
    Call{"syslog", SYS_syslog, {kBad}, EPERM, EPERM},
    Call{"mbind", SYS_mbind, {kBadAddress}, EPERM, EPERM},
    Call{"move_pages", SYS_move_pages, {0, 1, kBadAddress, 0, 0}, EPERM, EPERM},
    Call{"seccomp", SYS_seccomp, {kBad}, EPERM, EPERM},
    Call{"landlock_create_ruleset", SYS_landlock_create_ruleset, {kBadAddress, 8}, EPERM, EPERM},
    // Refused for their arguments.
    Call{"clone NEWUSER", SYS_clone, {CLONE_NEWUSER | CLONE_FS}, EPERM, EPERM},
    Call{"clone NEWNS", SYS_clone, {CLONE_NEWNS | CLONE_FS}, EPERM, EPERM},
    Call{"clone NEWIPC", SYS_clone, {CLONE_NEWIPC | CLONE_SYSVSEM}, EPERM, EPERM},
    Call{"clone NEWPID", SYS_clone, {CLONE_NEWPID | CLONE_THREAD}, EPERM, EPERM},
    Call{"socket AF_ALG", SYS_socket, {AF_ALG, 99}, EPERM, EPERM},
    Call{"socket AF_ALG, high bits", SYS_socket, {0x1'0000'0000 | AF_ALG, 99}, EPERM, EPERM},
    Call{"socket AF_VSOCK", SYS_socket, {AF_VSOCK, 99}, EPERM, EPERM},
    Call{"socket AF_PACKET", SYS_socket, {AF_PACKET, 99}, EPERM, EPERM},
    Call{"socket AF_NETLINK audit", SYS_socket, {AF_NETLINK, 99, 9}, EPERM, EPERM},
    Call{"ioctl TIOCSTI", SYS_ioctl, {kBad, TIOCSTI}, EPERM, EPERM},
    Call{"ioctl TIOCSTI, high bits", SYS_ioctl, {kBad, 0x1'0000'0000 | TIOCSTI}, EPERM, EPERM},
    Call{"ioctl TIOCLINUX", SYS_ioctl, {kBad, TIOCLINUX}, EPERM, EPERM},
    Call{"fchmodat set-uid", SYS_fchmodat, {kBad, kBadAddress, 04755}, EPERM, EPERM},
    Call{"fchmodat set-gid", SYS_fchmodat, {kBad, kBadAddress, 02755}, EPERM, EPERM},
    Call{"fchmodat2 set-uid", 452, {kBad, kBadAddress, 04755}, EPERM, EPERM},
    Call{"openat set-uid", SYS_openat, {kBad, kBadAddress, O_CREAT, 04755}, EPERM, EPERM},
    Call{"openat O_TMPFILE set-gid", SYS_openat, {kBad, kBadAddress, __O_TMPFILE, 02755}, EPERM,
         EPERM},
    Call{"mkdirat set-gid", SYS_mkdirat, {kBad, kBadAddress, 02755}, EPERM, EPERM},
    Call{"mknodat character", SYS_mknodat, {kBad, kBadAddress, S_IFCHR | 0666, 0x103}, EPERM,
         EPERM},
    Call{"mknodat block", SYS_mknodat, {kBad, kBadAddress, S_IFBLK | 0666, 0x800}, EPERM, EPERM},
};
// clang-format on

// libseccomp of Debian 12 does not know every name; those calls are unknown to the filter, too.
bool is_right(const Call& call, Profile profile, int got) {
  const int expected = profile == Profile::step ? call.step : call.strict;
  if (call.number == 452) return got == expected || got == ENOSYS;
  return got == expected;
}

std::string load(const std::vector<sock_filter>& filter) {
  std::vector<sock_filter> copy = filter;
  const sock_fprog program{static_cast<unsigned short>(copy.size()), copy.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0) return {};
  return os::fail_errno("load seccomp filter").error().message;
}

std::string name_of(int number) {
  if (number == 0) return "no error";
  const char* const name = ::strerrorname_np(number);
  return name != nullptr ? name : std::to_string(number);
}

}  // namespace

int self_test_calls(Profile /*profile*/) { return static_cast<int>(kCalls.size()); }

std::string run_self_test(Profile profile) {
  os::Result<SeccompPolicy> built = build_seccomp_policy(profile);
  if (!built) return built.error().message;
  const SeccompPolicy policy = join_programs(std::move(*built));
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no_new_privs is refused";
  if (std::string why = load(policy.allowed); !why.empty()) return why;
  std::string wrong;
  for (const Call& call : kCalls) {
    const auto& [a, b, c, d, e, f] = call.arguments;
    const int got = ::syscall(call.number, a, b, c, d, e, f) == -1 ? errno : 0;
    if (!is_right(call, profile, got))
      wrong +=
          fmt::format("{}{} answers {}, not {}", wrong.empty() ? "" : "; ", call.name, name_of(got),
                      name_of(profile == Profile::step ? call.step : call.strict));
  }
  return wrong;
}

}  // namespace sandbox
