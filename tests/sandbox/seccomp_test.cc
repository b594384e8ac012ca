#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "sandbox/seccomp_policy.h"
#include "tests/sandbox/jail_fixture.h"

namespace tests {
namespace {

using sandbox::Profile;
using sandbox::RunRequest;

// Each call is made with arguments that fail in the kernel: EBADF, EFAULT or EINVAL mean that it
// got there, EPERM and ENOSYS that it was refused.
constexpr const char* kTry = R"(
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for line in sys.argv[1].split(';'):
    name, *numbers = line.split()
    args = [ctypes.c_ulong(int(n, 0)) for n in numbers]
    ctypes.set_errno(0)
    r = libc.syscall(*args)
    print(name, errno.errorcode[ctypes.get_errno()] if r == -1 else 'ok')
)";

class Seccomp : public JailTest {
 protected:
  // name number arguments… (x86-64) -> what it answered
  std::map<std::string, std::string> call(const std::string& calls, Profile profile) {
    RunRequest run = request("calls", "");
    run.profile = profile;
    run.command = {"/usr/bin/python3", "-c", kTry, calls};
    const sandbox::RunResult result = JailTest::run(run);
    EXPECT_TRUE(result.outcome.is_success()) << describe(result.outcome) << head("calls");
    std::map<std::string, std::string> answers;
    std::istringstream lines(head("calls"));
    for (std::string name, answer; lines >> name >> answer;) answers[name] = answer;
    EXPECT_EQ(std::ssize(answers), 1 + std::ranges::count(calls, ';'));
    return answers;
  }
};

#ifdef __x86_64__

TEST_F(Seccomp, RefusesWhatOpensTheKernel) {
  const auto answers = call(
      "unshare 272 0x10000000;setns 308 -1 0;mount 165 0 0 0 0 0;umount2 166 0 0;pivot_root 155 0 "
      "0;"
      "chroot 161 0;open_tree 428 -1 0 0;move_mount 429 -1 0 -1 0 0;fsopen 430 0 0;"
      "mount_setattr 442 -1 0 0 0 0;bpf 321 0 0 0;perf_event_open 298 0 0 0 0 0;"
      "io_uring_setup 425 1 0;io_uring_enter 426 -1 0 0 0 0 0;userfaultfd 323 0;keyctl 250 0 0;"
      "add_key 248 0 0 0 0 0;request_key 249 0 0 0 0;kexec_load 246 0 0 0 0;init_module 175 0 0 0;"
      "finit_module 313 -1 0 0;delete_module 176 0 0;reboot 169 0 0 0 0;swapon 167 0 0;"
      "quotactl 179 0 0 0 0;name_to_handle_at 303 -1 0 0 0 0;open_by_handle_at 304 -1 0 0;"
      "memfd_secret 447 0;pidfd_getfd 438 -1 0 0;fanotify_init 300 0 0;modify_ldt 154 0 0 0;"
      "sethostname 170 0 0;syslog 103 3 0 0;acct 163 0;iopl 172 3;ioperm 173 0 1 1;"
      "settimeofday 164 0 0;clock_settime 227 0 0;process_madvise 440 -1 0 0 0 0;seccomp 317 0 0 0;"
      "mbind 237 0 0 0 0 0 0;move_pages 279 0 0 0 0 0 0;kcmp 312 0 0 0 0 0;vhangup 153",
      Profile::step);
  for (const auto& [name, answer] : answers) EXPECT_EQ(answer, "EPERM") << name;
}

TEST_F(Seccomp, KnowsNothingOfClone3AndOfNewCalls) {
  const auto answers = call("clone3 435 0 0;unknown 600 0;statmount 457 0 0 0 0", Profile::step);
  for (const auto& [name, answer] : answers) EXPECT_EQ(answer, "ENOSYS") << name;
}

TEST_F(Seccomp, LooksAtArguments) {
  const auto answers = call(
      "newuser 56 0x10000011 0 0 0 0;newns 56 0x20011 0 0 0 0;newpid 56 0x20000011 0 0 0 0;"
      "newcgroup 56 0x2000011 0 0 0 0;"
      "tiocsti 16 0 0x5412 0;tiocsti_high 16 0 0x100005412 0;tioclinux 16 0 0x541c 0;"
      "alg 41 38 5 0;vsock 41 40 1 0;packet 41 17 3 0;audit 41 16 3 9;alg_high 41 0x100000026 5 0;"
      "xdp 41 44 3 0;chmod_suid 90 0 0o4755;chmod_sgid 90 0 0o2755;fchmodat_suid 268 -1 0 0o4755;"
      "open_suid 2 0 0o100 0o4755;openat_suid 257 -1 0 0o100 0o4755;creat_sgid 85 0 0o2755;"
      "tmpfile_suid 257 -1 0 0o20200000 0o4755;mknod_char 133 0 0o20666 0x103;mknod_block 133 0 "
      "0o60666 0x800;mkdir_sgid 83 0 0o2755",
      Profile::step);
  for (const auto& [name, answer] : answers) EXPECT_EQ(answer, "EPERM") << name;
}

TEST_F(Seccomp, AllowsTheirOrdinaryForms) {
  const auto answers = call(
      "fixed 135 0x40000;"
      "unix 41 1 1 0;inet 41 2 1 0;inet6 41 10 1 0;route 41 16 3 0;persona 135 0;query 135 "
      "0xffffffff;"
      "no_mode 2 0 0 0o4755;chmod 90 0 0o755;mkfifo 133 0 0o10644 0;ptrace 101 0x4206 0 0 0",
      Profile::step);
  EXPECT_EQ(answers.at("unix"), "ok");
  EXPECT_EQ(answers.at("fixed"), "ok");
  EXPECT_EQ(answers.at("no_mode"), "EFAULT") << "what is no mode is not looked at";
  EXPECT_EQ(answers.at("inet"), "ok");
  EXPECT_EQ(answers.at("inet6"), "ok");
  EXPECT_EQ(answers.at("route"), "ok");
  EXPECT_EQ(answers.at("persona"), "ok");
  EXPECT_EQ(answers.at("query"), "ok");
  EXPECT_EQ(answers.at("chmod"), "EFAULT");
  EXPECT_EQ(answers.at("mkfifo"), "EFAULT");
  EXPECT_EQ(answers.at("ptrace"), "ESRCH");
}

TEST_F(Seccomp, RefusesOtherPersonalities) {
  const auto answers = call("linux32 135 8;both 135 0x40008", Profile::step);
  EXPECT_EQ(answers.at("both"), "ENOSYS");
  EXPECT_EQ(answers.at("linux32"), "ENOSYS");
}

TEST_F(Seccomp, OfTheStrictProfileHasNeitherSocketsNorProcesses) {
  const auto answers = call(
      "unix 41 1 1 0;fork 57;vfork 58;clone 56 17 0 0 0 0;ptrace 101 0 0 0 0;shmget 29 0 1 0;"
      "mq_open 240 0 0 0 0;process_vm_readv 310 0 0 0 0 0 0",
      Profile::strict);
  for (const auto& [name, answer] : answers) EXPECT_EQ(answer, "EPERM") << name;
}

// Through the 32-bit entry the numbers mean other calls: it ends the process (SIGSYS; SIGSEGV where
// the kernel has no such entry).
TEST_F(Seccomp, KillsAProgramOfAnotherArchitecture) {
  const sandbox::RunResult result =
      run("foreign",
          "printf '.globl _start\\n_start: mov $20, %%eax\\nint $0x80\\nmov $60, %%eax\\n"
          "xor %%edi, %%edi\\nsyscall\\n' > a.s; as a.s -o a.o; ld a.o -o a; exec ./a");
  EXPECT_EQ(result.outcome.kind, sandbox::OutcomeKind::signalled) << describe(result.outcome);
  EXPECT_TRUE(result.outcome.signal == SIGSYS || result.outcome.signal == SIGSEGV);
}

TEST_F(Seccomp, KillsACallOfTheX32Interface) {
  RunRequest foreign = request("x32", "");
  foreign.command = {"/usr/bin/python3", "-c",
                     "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_ulong(0x40000000 + 39))"};
  const sandbox::RunResult result = run(foreign);
  EXPECT_EQ(result.outcome, sandbox::Outcome::signalled(SIGSYS)) << describe(result.outcome);
}

#endif

TEST(SeccompPolicy, FitsTheKernelsBoundOnPrograms) {
  for (const Profile profile : {Profile::step, Profile::strict}) {
    const os::Result<sandbox::SeccompPolicy> policy = sandbox::build_seccomp_policy(profile);
    ASSERT_OK(policy);
    EXPECT_GT(policy->allowed.size(), 10U);
    EXPECT_LT(policy->allowed.size(), 4096U);
    EXPECT_LT(policy->arguments.size(), 4096U);
  }
}

}  // namespace
}  // namespace tests
