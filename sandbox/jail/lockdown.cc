#include "sandbox/jail/lockdown.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "sandbox/ablation.h"

namespace sandbox::jail {
namespace {

os::Result<void> limit(__rlimit_resource resource, const char* name, rlim_t soft, rlim_t hard) {
  const rlimit bound{soft, hard};
  if (::setrlimit(resource, &bound) != 0) return os::fail_errno(name);
  return {};
}

// Capabilities beyond the last that the kernel knows answer EINVAL.
os::Result<void> empty_bounding_set() {
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0) continue;
    if (errno == EINVAL) return {};
    return os::fail_errno("drop capability from the bounding set");
  }
  return {};
}

os::Result<void> load_program(const std::vector<sock_filter>& filter) {
  // The kernel takes a pointer to non-const and does not write.
  std::vector<sock_filter> copy = filter;
  const sock_fprog program{static_cast<unsigned short>(copy.size()), copy.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return os::fail_errno("load seccomp filter");
  return {};
}

sock_filter instruction(int code, std::uint32_t value, int if_true = 0, int if_false = 0) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
          static_cast<std::uint8_t>(if_false), value};
}

}  // namespace

os::Result<void> limit_core_files() {
  rlimit now{};
  if (::getrlimit(RLIMIT_CORE, &now) != 0) return os::fail_errno("limit core files");
  const rlim_t most = std::min<rlim_t>(now.rlim_max, 1);
  return limit(RLIMIT_CORE, "limit core files", most, most);
}

os::Result<void> set_resource_limits(const Limits& limits) {
  if (is_left_out(Layer::rlimits)) return {};
  const rlim_t files = static_cast<rlim_t>(limits.files);
  // The size of the tmpfs is the bound, and answers ENOSPC; this only stops offsets of exabytes.
  constexpr rlim_t kLargestFile = 1ULL << 40U;
  TRY(limit_core_files());
  TRY(limit(RLIMIT_NOFILE, "limit open files", files, files));
  TRY(limit(RLIMIT_FSIZE, "limit file size", kLargestFile, kLargestFile));
  TRY(limit(RLIMIT_MEMLOCK, "limit locked memory", 8U << 20U, 8U << 20U));
  TRY(limit(RLIMIT_MSGQUEUE, "limit message queues", 819'200, 819'200));
  TRY(limit(RLIMIT_SIGPENDING, "limit pending signals", 4096, 4096));
  TRY(limit(RLIMIT_STACK, "limit stack", 8U << 20U, RLIM_INFINITY));
  TRY(limit(RLIMIT_RTPRIO, "limit real-time priority", 0, 0));
  return limit(RLIMIT_NICE, "limit nice", 0, 0);
}

os::Result<void> drop_privileges(int user_namespace, std::uint32_t inner) {
  const bool own_ids = !is_left_out(Layer::user_namespace);
  if (!is_left_out(Layer::groups) && ::setgroups(0, nullptr) != 0)
    return os::fail_errno("drop supplementary groups");
  if (own_ids && ::setns(user_namespace, CLONE_NEWUSER) != 0)
    return os::fail_errno("enter user namespace");
  if (!is_left_out(Layer::bounding_set)) TRY(empty_bounding_set());
  constexpr unsigned long kSecure = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                                    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                                    SECBIT_NO_CAP_AMBIENT_RAISE |
                                    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
  if (!is_left_out(Layer::securebits) && ::prctl(PR_SET_SECUREBITS, kSecure, 0, 0, 0) != 0)
    return os::fail_errno("set securebits");
  if (own_ids && ::setresgid(inner, inner, inner) != 0) return os::fail_errno("set group");
  if (own_ids && ::setresuid(inner, inner, inner) != 0) return os::fail_errno("set user");
  if (!is_left_out(Layer::no_new_privs) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return os::fail_errno("set no_new_privs");
  return {};
}

os::Result<void> drop_capabilities() {
  if (is_left_out(Layer::capabilities)) return {};
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return os::fail_errno("clear ambient capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return os::fail_errno("clear capabilities");
  return {};
}

os::Result<void> leave_keyrings() {
  if (is_left_out(Layer::keyring)) return {};
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS)
    return os::fail_errno("join a new session keyring");
  return {};
}

os::Result<void> load_seccomp(const SeccompPolicy& policy) {
  // The list of calls goes last: it refuses seccomp(2) itself.
  if (!policy.arguments.empty() && !is_left_out(Layer::seccomp_arguments))
    TRY(load_program(policy.arguments));
  if (is_left_out(Layer::seccomp_list)) return {};
  return load_program(policy.allowed);
}

os::Result<void> load_supervisor_filter() {
  constexpr std::array kCalls{SYS_wait4, SYS_poll,          SYS_write,      SYS_statfs,
                              SYS_exit,  SYS_clock_gettime, SYS_exit_group, SYS_rt_sigreturn};
  constexpr int kLoad = BPF_LD | BPF_W | BPF_ABS;
  constexpr int kEqual = BPF_JMP | BPF_JEQ | BPF_K;
  std::array<sock_filter, kCalls.size() + 5> filter{
      instruction(kLoad, offsetof(seccomp_data, arch)),
      instruction(kEqual, AUDIT_ARCH_X86_64, 0, kCalls.size() + 1),
      instruction(kLoad, offsetof(seccomp_data, nr))};
  std::size_t at = 3;
  for (const long call : kCalls) {
    const auto to_allow = static_cast<int>(kCalls.size() + 3 - at);
    filter[at++] = instruction(kEqual, static_cast<std::uint32_t>(call), to_allow);
  }
  filter[at++] = instruction(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[at] = instruction(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return os::fail_errno("load the supervisor's filter");
  return {};
}

}  // namespace sandbox::jail
