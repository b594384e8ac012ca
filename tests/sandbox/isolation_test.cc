#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "tests/sandbox/jail_fixture.h"

namespace tests {
namespace {

using sandbox::Domain;
using sandbox::Outcome;
using sandbox::Profile;
using sandbox::RunRequest;
using sandbox::RunResult;

class Isolation : public JailTest {
 protected:
  std::string python(const std::string& id, const std::string& script) {
    RunRequest run = request(id, "");
    run.command = {"/usr/bin/python3", "-c", script};
    const RunResult result = JailTest::run(run);
    EXPECT_TRUE(result.outcome.is_success()) << describe(result.outcome) << "\n" << head(id);
    return head(id);
  }
};

TEST_F(Isolation, RunsAsAnOrdinaryUserThatIsNotMappedToRoot) {
  EXPECT_EQ(print("id", "id -u; id -g; id -G"), "1000\n1000\n1000\n");
  std::istringstream map(print("map", "cat /proc/self/uid_map"));
  std::uint32_t inside = 1;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;
  map >> inside >> outside >> count;
  EXPECT_EQ(inside, 0U);
  EXPECT_EQ(outside, bounds.ids[0].start);
  EXPECT_EQ(count, bounds.ids[0].count);
}

TEST_F(Isolation, GivesEachDomainItsOwnIds) {
  std::set<std::string> maps;
  for (const Domain domain : {Domain::change, Domain::base, Domain::judge, Domain::reader}) {
    const std::string id = "map" + std::to_string(static_cast<int>(domain));
    RunRequest look = request(id, "cat /proc/self/uid_map");
    look.domain = domain;
    EXPECT_TRUE(run(look).outcome.is_success());
    maps.insert(head(id));
  }
  EXPECT_EQ(maps.size(), 4U);
}

TEST_F(Isolation, HasNoCapabilityAndCannotGetOne) {
  EXPECT_EQ(print("caps", "grep -hE '^(Cap|NoNew|Seccomp:)' /proc/self/status | tr -d '\\t'"),
            "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
            "CapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n");
}

TEST_F(Isolation, HasDescriptors0To2Only) {
  EXPECT_EQ(python("fds",
                   "import os\n"
                   "print(sorted(int(n) for n in os.listdir('/proc/self/fd')))\n"
                   "print(os.readlink('/proc/self/fd/0'))"),
            "[0, 1, 2, 3]\n/dev/null\n")
      << "3 is the directory that was just opened";
}

TEST_F(Isolation, ShowsNothingOfTheHostButItsToolchain) {
  write_file(*directory / "secret", "secret");
  EXPECT_EQ(print("ls", "ls -A /"),
            "bin\ndev\ndriver\netc\nhome\nin\nlib\nlib64\nneeds\nout\nproc\nproofhouse\nsbin\ntmp\n"
            "usr\nvar\n"
            "workspace\n");
  EXPECT_EQ(
      print("absent", "test ! -e " + (*directory / "secret") +
                          "; for p in /root /sys /run /boot /etc/shadow /etc/ssh /work /var/lib;"
                          "do test ! -e $p || echo $p; done; ls -A /tmp /home/build /dev/shm"),
      "/dev/shm:\n\n/home/build:\n\n/tmp:\n");
  EXPECT_EQ(print("dev", "ls /dev"),
            "fd\nfull\nmqueue\nnull\nrandom\nshm\nstderr\nstdin\nstdout\nurandom\nzero\n");
}

TEST_F(Isolation, HidesHostPathsInItsListOfMounts) {
  const std::string mounts = print("mounts", "cat /proc/self/mountinfo");
  EXPECT_EQ(mounts.find(directory->path()), std::string::npos) << mounts;
  EXPECT_EQ(mounts.find("proofhouse-"), std::string::npos) << mounts;
}

TEST_F(Isolation, CannotWriteToTheRoot) {
  EXPECT_EQ(print("write",
                  "for p in / /usr /etc /etc/passwd /dev /usr/bin /home /needs /in /proc/sys "
                  "/proofhouse /var /etc/alternatives; do"
                  "  test -w $p && echo $p; touch $p/x 2>/dev/null && echo $p/x; done; true"),
            "");
}

TEST_F(Isolation, CannotWriteSysctls) {
  // EACCES: not the owner; EROFS: what anybody may write elsewhere.
  EXPECT_EQ(
      python("sysctl",
             "import errno, os\n"
             "for p in ('kernel/core_pattern', 'kernel/modprobe', 'vm/drop_caches',\n"
             "          'kernel/ns_last_pid', 'net/ipv4/ip_forward'):\n"
             "    try: os.open('/proc/sys/' + p, os.O_WRONLY); print(p)\n"
             "    except OSError as e:\n"
             "        if e.errno not in (errno.EACCES, errno.EROFS, errno.ENOENT): print(p, e)"),
      "");
}

TEST_F(Isolation, HidesEntriesOfProc) {
  EXPECT_EQ(
      print("proc",
            "for p in kcore keys kallsyms kmsg timer_list sysrq-trigger interrupts; do"
            "  p=/proc/$p; if [ -e $p ]; then cat $p; [ $(stat -c %t,%T $p) = 1,3 ]; fi; done;"
            "for p in acpi scsi bus fs; do ls -A /proc/$p 2>/dev/null || true; done"),
      "");
}

TEST_F(Isolation, SeesItsOwnProcessesOnlyAndCannotTouchProcess1) {
  EXPECT_EQ(
      python("pids",
             "import ctypes, errno, os, signal\n"
             "print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()), os.getpid())\n"
             "libc = ctypes.CDLL(None, use_errno=True)\n"
             "def say(name, f):\n"
             "    try: f(); print(name, 'ok')\n"
             "    except OSError as e: print(name, errno.errorcode[e.errno])\n"
             "say('kill', lambda: os.kill(1, signal.SIGKILL))\n"
             "say('environ', lambda: open('/proc/1/environ').read())\n"
             "say('mem', lambda: open('/proc/1/mem', 'rb'))\n"
             "say('fd', lambda: os.listdir('/proc/1/fd'))\n"
             "say('root', lambda: os.listdir('/proc/1/root/'))\n"
             "say('exe', lambda: os.readlink('/proc/1/exe'))\n"
             "say('cwd', lambda: os.chdir('/proc/1/cwd'))\n"
             "r = libc.ptrace(16, 1, 0, 0)\n"
             "print('ptrace', r, errno.errorcode[ctypes.get_errno()])\n"),
      "[1, 2] 2\nkill EPERM\nenviron EACCES\nmem EACCES\nfd EACCES\nroot EACCES\nexe EACCES\n"
      "cwd EACCES\nptrace -1 EPERM\n");
}

TEST_F(Isolation, HasLoopbackOnly) {
  EXPECT_EQ(python("net",
                   "import socket, errno\n"
                   "print([n for _, n in socket.if_nameindex()])\n"
                   "s = socket.create_server(('127.0.0.1', 0))\n"
                   "socket.create_connection(s.getsockname())\n"
                   "for a in ('192.0.2.1', '169.254.169.254'):\n"
                   "    try: socket.create_connection((a, 80), 2)\n"
                   "    except OSError as e: print(errno.errorcode[e.errno])\n"),
            "['lo']\nENETUNREACH\nENETUNREACH\n");
}

TEST_F(Isolation, LeavesNothingInTmpHomeOrSharedMemory) {
  print("first", "touch /tmp/x /home/build/x /dev/shm/x /workspace/x");
  EXPECT_EQ(print("second", "ls -A /tmp /home/build /dev/shm /workspace | grep x || echo none"),
            "none\n");
}

TEST_F(Isolation, ShowsOutputsAndInputsReadOnly) {
  write_file(attempt + "/input/patch", "text\n");
  RunRequest make = request("make", "mkdir d; echo 1 > d/f; echo 2 > g");
  make.collect = {{"d", "d", false, true}, {"g", "g"}};
  EXPECT_TRUE(run(make).outcome.is_success());
  RunRequest look =
      request("look",
              "cat /needs/make.d/f /needs/make.g /in/patch; ls /needs /in;"
              "for p in /needs/x /needs/make.d/f /needs/make.d/x /needs/make.g /in/patch;"
              "do (echo y > $p) 2>/dev/null && echo wrote $p; done; true");
  look.domain = Domain::judge;
  look.mounts = {{sandbox::MountSource::output, "make/d", "/needs/make.d"},
                 {sandbox::MountSource::output, "make/g", "/needs/make.g"},
                 {sandbox::MountSource::input, "input/patch", "/in/patch"}};
  EXPECT_TRUE(run(look).outcome.is_success());
  EXPECT_EQ(head("look"), "1\n2\ntext\n/in:\npatch\n\n/needs:\nmake.d\nmake.g\n");
}

TEST_F(Isolation, ShowsTheRepositoryToItsReaderThoughItBelongsToSomebodyElse) {
  repository = *directory / "repo.git";
  write_file(repository + "/HEAD", "ref: refs/heads/main\n");
  std::filesystem::permissions(repository, std::filesystem::perms::owner_all);
  ASSERT_EQ(::chown(repository.c_str(), 997, 997), 0);
  ASSERT_EQ(::chown((repository + "/HEAD").c_str(), 997, 997), 0);
  ASSERT_EQ(::chmod((repository + "/HEAD").c_str(), 0600), 0);
  RunRequest look = request("look", "exec cat /in/repo/HEAD");
  look.domain = Domain::reader;
  look.profile = Profile::strict;
  look.mounts = {{sandbox::MountSource::repository, "", "/in/repo"}};
  EXPECT_TRUE(run(look).outcome.is_success());
  EXPECT_EQ(head("look"), "ref: refs/heads/main\n");
}

TEST_F(Isolation, ShowsTheOperatorsPathsAndItsPrograms) {
  const std::string extra = "/etc/debian_version";
  if (!std::filesystem::exists(extra)) GTEST_SKIP() << "this host has no " << extra;
  programs = *directory / "programs";
  write_file(programs + "/reader", "#!/bin/sh\necho read\n");
  ASSERT_EQ(::chmod((programs + "/reader").c_str(), 0755), 0);
  bounds.read_only_paths = {extra};
  EXPECT_EQ(print("look", "test -s " + extra + "; (echo > " + extra +
                              ") 2>/dev/null || echo ro;"
                              "/proofhouse/reader"),
            "ro\nread\n");
}

TEST_F(Isolation, OfTheStrictProfileHasNoWorkspaceAndOneMebibyteOfTmp) {
  RunRequest strict = request("strict", "pwd; (:)");
  strict.profile = Profile::strict;
  strict.domain = Domain::reader;
  EXPECT_FALSE(run(strict).outcome.is_success());
  EXPECT_EQ(head("strict"), "/tmp\n/bin/sh: 1: Cannot fork\n");
  strict.id = "sizes";
  strict.command = {"/usr/bin/python3", "-c",
                    "import os\n"
                    "for p in ('/tmp', '/dev/shm'):\n"
                    "    s = os.statvfs(p); print(s.f_blocks * s.f_bsize)\n"
                    "print(os.listdir('/workspace'), os.access('/workspace', os.W_OK))"};
  EXPECT_TRUE(run(strict).outcome.is_success()) << head("sizes");
  EXPECT_EQ(head("sizes"), "1048576\n1048576\n[] False\n");
}

TEST_F(Isolation, LetsTheToolchainWork) {
  const std::string text =
      print("tools",
            "cat > a.cc <<E\n#include <vector>\nint main(int n, char**) { std::vector<int> v(4);"
            " return n == 2 ? v.data()[4] : 0; }\nE\n"
            "g++ -g -fsanitize=address a.cc -o a; ./a; (./a x > log 2>&1 || grep -q heap-buffer "
            "log && echo 1);"
            "printf 'project(x C)\\ncmake_minimum_required(VERSION 3.20)\\nenable_testing()\\n"
            "add_test(NAME t COMMAND true)\\n' > CMakeLists.txt;"
            "cmake -S . -B b -G Ninja > /dev/null 2>&1; ninja -C b > /dev/null; (cd b; ctest | "
            "grep -c Passed);"
            "echo x > /dev/stdout");
  EXPECT_EQ(text, "1\n1\nx\n");
}

}  // namespace
}  // namespace tests
