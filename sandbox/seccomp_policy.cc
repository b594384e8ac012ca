#include "sandbox/seccomp_policy.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string>

#include "sandbox/os/fd.h"

namespace sandbox {
namespace {

using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

// clang-format off: one name a line would hide the lists' shape.

// What a compiler, a test program or a benchmark needs. Names that libseccomp does not know are
// newer than it and stay unknown to commands, too.
constexpr std::array kCommon{
    "access", "alarm", "arch_prctl", "brk", "cachestat", "capget", "capset", "chdir", "chmod",
    "chown", "clock_getres", "clock_gettime", "clock_nanosleep", "clone", "close", "close_range",
    "copy_file_range", "creat", "dup", "dup2", "dup3", "epoll_create", "epoll_create1", "epoll_ctl",
    "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd",
    "eventfd2", "execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64",
    "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "fcntl",
    "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fstat", "fstatfs", "fsync",
    "ftruncate", "futex", "futimesat", "get_robust_list", "get_thread_area", "getcpu", "getcwd",
    "getdents", "getdents64", "getegid", "geteuid", "getgid", "getgroups", "getitimer", "getpgid",
    "getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid", "getresuid",
    "getrlimit", "getrusage", "getsid", "gettid", "gettimeofday", "getuid", "getxattr",
    "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "ioctl", "ioprio_get",
    "kill", "lchown", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lremovexattr",
    "lseek", "lstat", "madvise", "membarrier", "memfd_create", "mincore", "mkdir", "mkdirat",
    "mknod", "mknodat", "mlock", "mlock2", "mlockall", "mmap", "mprotect", "mremap", "msync",
    "munlock", "munlockall", "munmap", "nanosleep", "newfstatat", "open", "openat", "pause",
    "pidfd_open", "pidfd_send_signal", "pipe", "pipe2", "pkey_alloc", "pkey_free",
    "pkey_mprotect", "poll", "ppoll", "prctl", "pread64", "preadv", "preadv2", "prlimit64",
    "pselect6", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat",
    "readv", "removexattr", "rename", "renameat", "renameat2", "restart_syscall", "rmdir", "rseq",
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
    "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max",
    "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
    "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_yield", "select",
    "sendfile", "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid", "setfsuid",
    "setgid", "setgroups", "setitimer", "setpgid", "setpriority", "setregid", "setresgid",
    "setresuid", "setreuid", "setrlimit", "setsid", "setuid", "setxattr", "fsetxattr", "lsetxattr",
    "sigaltstack", "signalfd", "signalfd4", "splice", "stat", "statfs", "statx", "symlink",
    "symlinkat", "sync", "sync_file_range", "syncfs", "sysinfo", "tee", "tgkill", "time",
    "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
    "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "tkill", "truncate",
    "ugetrlimit", "umask", "uname", "unlink", "unlinkat", "utime", "utimensat", "utimes",
    "vmsplice", "wait4", "waitid", "waitpid", "write", "writev"};

// Beyond that in steps: processes, sockets, queues, ptrace (the own pid namespace bounds it).
constexpr std::array kStepOnly{
    "accept", "accept4", "bind", "connect", "fork", "getpeername", "getsockname", "getsockopt",
    "ipc", "listen", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend",
    "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "process_vm_readv", "process_vm_writev",
    "ptrace", "recvfrom", "recvmmsg", "recvmsg", "sched_setattr", "sched_setparam",
    "sched_setscheduler", "semctl", "semget", "semop", "semtimedop", "sendmmsg", "sendmsg",
    "sendto", "setsockopt", "shmat", "shmctl", "shmdt", "shmget", "shutdown", "socket",
    "socketpair", "vfork"};

// Beyond that in our own parsers. Its mode lies in memory, where no filter can see set-id bits, so
// steps are told that the kernel has no such call and use openat(2).
constexpr std::array kStrictOnly{"openat2"};

// Known and refused: EPERM rather than "not there", so that a program says what it was denied.
constexpr std::array kRefused{
    "acct", "add_key", "adjtimex", "bpf", "chroot", "clock_adjtime", "clock_settime",
    "create_module", "delete_module", "fanotify_init", "fanotify_mark", "finit_module", "fsconfig",
    "fsmount", "fsopen", "fspick", "get_kernel_syms", "get_mempolicy", "init_module", "io_cancel",
    "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "ioprio_set", "kcmp",
    "kexec_file_load", "kexec_load", "keyctl", "landlock_add_rule", "landlock_create_ruleset",
    "landlock_restrict_self", "lookup_dcookie", "mbind", "memfd_secret", "migrate_pages",
    "modify_ldt", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at",
    "nfsservctl", "open_by_handle_at", "open_tree", "perf_event_open", "pidfd_getfd", "pivot_root",
    "process_madvise", "process_mrelease", "query_module", "quotactl", "quotactl_fd", "reboot",
    "request_key", "seccomp", "set_mempolicy", "set_mempolicy_home_node", "setdomainname",
    "sethostname", "setns", "settimeofday", "stime", "swapoff", "swapon", "sysfs", "syslog",
    "umount", "umount2", "unshare", "uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old"};

// clang-format on

constexpr std::array kNewNamespaces{CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                    CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
// The low 32 bits: what the kernel looks at.
constexpr scmp_datum_t kLow = 0xffff'ffffU;
// S_IFMT, and below S_IFCHR, S_IFBLK, S_ISUID, S_ISGID (man 7 inode).
constexpr scmp_datum_t kFileType = 0170000U;
constexpr scmp_datum_t kQueryPersonality = 0xffff'ffffU;
// ADDR_NO_RANDOMIZE (man 2 personality): debuggers and ThreadSanitizer start programs with it.
constexpr scmp_datum_t kFixedAddresses = 0x0040000U;

os::Result<Filter> new_filter(std::uint32_t otherwise) {
  Filter filter(::seccomp_init(otherwise), &::seccomp_release);
  if (filter == nullptr) return os::fail(os::Code::internal, "seccomp_init failed");
  if (::seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) != 0 ||
      ::seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0)
    return os::fail(os::Code::internal, "seccomp_attr_set failed");
  return filter;
}

os::Result<void> add(void* filter, std::uint32_t action, const char* name,
                     std::initializer_list<scmp_arg_cmp> conditions = {}) {
  const int number = ::seccomp_syscall_resolve_name(name);
  // Unknown names and those of other architectures have nothing to be filtered.
  if (number < 0) return {};
  const int rc = ::seccomp_rule_add_array(
      filter, action, number, static_cast<unsigned>(conditions.size()), std::data(conditions));
  if (rc != 0) return os::fail_errno(-rc, std::string("seccomp rule for ") + name);
  return {};
}

constexpr std::uint32_t refuse() { return SCMP_ACT_ERRNO(EPERM); }

os::Result<void> refuse_mode_bits(void* filter, const char* name, unsigned argument) {
  for (const scmp_datum_t bit : {04000U, 02000U})
    TRY(add(filter, refuse(), name, {scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, bit, bit}}));
  return {};
}

// A new file may get its mode from open(2), too; without these flags that argument is not one.
os::Result<void> refuse_mode_of_new_file(void* filter, const char* name, unsigned flags) {
  for (const scmp_datum_t how : {scmp_datum_t{O_CREAT}, scmp_datum_t{__O_TMPFILE}})
    for (const scmp_datum_t bit : {04000U, 02000U})
      TRY(add(filter, refuse(), name,
              {scmp_arg_cmp{flags, SCMP_CMP_MASKED_EQ, how, how},
               scmp_arg_cmp{flags + 1, SCMP_CMP_MASKED_EQ, bit, bit}}));
  return {};
}

os::Result<void> refuse_devices(void* filter, const char* name, unsigned argument) {
  for (const scmp_datum_t type : {0020000U, 0060000U})
    TRY(add(filter, refuse(), name, {scmp_arg_cmp{argument, SCMP_CMP_MASKED_EQ, kFileType, type}}));
  return refuse_mode_bits(filter, name, argument);
}

os::Result<void> refuse_sockets(void* filter) {
  // Families 1, 2, 10 and 16 are left over (include/linux/socket.h).
  for (const scmp_datum_t family : {0U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 11U, 12U, 13U, 14U, 15U})
    TRY(add(filter, refuse(), "socket", {scmp_arg_cmp{0, SCMP_CMP_EQ, family, 0}}));
  TRY(add(filter, refuse(), "socket", {scmp_arg_cmp{0, SCMP_CMP_GT, AF_NETLINK, 0}}));
  return add(filter, refuse(), "socket",
             {scmp_arg_cmp{0, SCMP_CMP_EQ, AF_NETLINK, 0}, scmp_arg_cmp{2, SCMP_CMP_GT, 0, 0}});
}

os::Result<std::vector<sock_filter>> export_program(void* filter) {
  const os::Fd file(::memfd_create("seccomp", MFD_CLOEXEC));
  if (!file.is_open()) return os::fail_errno("memory file for a seccomp program");
  const int rc = ::seccomp_export_bpf(filter, file.get());
  if (rc != 0) return os::fail_errno(-rc, "export seccomp program");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return os::fail_errno("read seccomp program");
  const std::string bytes = TRY(os::read_all(file.get(), 1U << 20U));
  std::vector<sock_filter> program(bytes.size() / sizeof(sock_filter));
  bytes.copy(static_cast<char*>(static_cast<void*>(program.data())), bytes.size());
  return program;
}

os::Result<std::vector<sock_filter>> allowed_calls(Profile profile) {
  const Filter filter = TRY(new_filter(SCMP_ACT_ERRNO(ENOSYS)));
  for (const char* name : kCommon) TRY(add(filter.get(), SCMP_ACT_ALLOW, name));
  const bool is_step = profile == Profile::step;
  for (const char* name : kStepOnly)
    TRY(add(filter.get(), is_step ? SCMP_ACT_ALLOW : refuse(), name));
  if (!is_step)
    for (const char* name : kStrictOnly) TRY(add(filter.get(), SCMP_ACT_ALLOW, name));
  for (const char* name : kRefused) TRY(add(filter.get(), refuse(), name));
  for (const scmp_datum_t persona : {scmp_datum_t{0}, kFixedAddresses, kQueryPersonality})
    TRY(add(filter.get(), SCMP_ACT_ALLOW, "personality",
            {scmp_arg_cmp{0, SCMP_CMP_EQ, persona, 0}}));
  return export_program(filter.get());
}

os::Result<std::vector<sock_filter>> refused_arguments(Profile profile) {
  const Filter filter = TRY(new_filter(SCMP_ACT_ALLOW));
  for (const int flag : kNewNamespaces) {
    const auto bit = static_cast<scmp_datum_t>(static_cast<unsigned>(flag));
    TRY(add(filter.get(), refuse(), "clone", {scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, bit, bit}}));
  }
  if (profile == Profile::strict)
    TRY(add(filter.get(), refuse(), "clone",
            {scmp_arg_cmp{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}}));
  for (const scmp_datum_t command : {scmp_datum_t{TIOCSTI}, scmp_datum_t{TIOCLINUX}})
    TRY(add(filter.get(), refuse(), "ioctl", {scmp_arg_cmp{1, SCMP_CMP_MASKED_EQ, kLow, command}}));
  TRY(refuse_sockets(filter.get()));
  for (const char* name : {"chmod", "fchmod", "mkdir"})
    TRY(refuse_mode_bits(filter.get(), name, 1));
  for (const char* name : {"fchmodat", "fchmodat2", "mkdirat"})
    TRY(refuse_mode_bits(filter.get(), name, 2));
  TRY(refuse_mode_bits(filter.get(), "creat", 1));
  TRY(refuse_mode_of_new_file(filter.get(), "open", 1));
  TRY(refuse_mode_of_new_file(filter.get(), "openat", 2));
  TRY(refuse_devices(filter.get(), "mknod", 1));
  TRY(refuse_devices(filter.get(), "mknodat", 2));
  return export_program(filter.get());
}

}  // namespace

SeccompPolicy join_programs(SeccompPolicy policy) {
  std::vector<sock_filter>& list = policy.allowed;
  for (std::size_t at = 0; at < list.size(); ++at)
    if (list[at].code == (BPF_RET | BPF_K) && list[at].k == SECCOMP_RET_ALLOW)
      list[at] = {BPF_JMP | BPF_JA, 0, 0, static_cast<std::uint32_t>(list.size() - at - 1)};
  list.insert(list.end(), policy.arguments.begin(), policy.arguments.end());
  policy.arguments.clear();
  return policy;
}

os::Result<SeccompPolicy> build_seccomp_policy(Profile profile) {
  SeccompPolicy policy;
  policy.allowed = TRY(allowed_calls(profile));
  policy.arguments = TRY(refused_arguments(profile));
  return policy;
}

}  // namespace sandbox
