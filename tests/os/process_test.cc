#include "sandbox/os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "tests/support/capability.h"

namespace os {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

SpawnRequest shell(std::string script) {
  SpawnRequest request;
  request.program = "/bin/sh";
  request.arguments = {"-c", std::move(script)};
  return request;
}

std::string output_of(const SpawnRequest& request) {
  Result<Captured> captured = run_captured(request, seconds(20));
  return captured ? captured->output : captured.error().message;
}

TEST(Process, TellsExitCodesFromSignals) {
  const Captured exited = run_captured(shell("exit 9"), seconds(20)).value();
  EXPECT_EQ(exited.status.code, 9);
  EXPECT_EQ(exited.status.signal, 0);
  const Captured killed = run_captured(shell("kill -9 $$"), seconds(20)).value();
  EXPECT_EQ(killed.status.signal, SIGKILL);
  EXPECT_FALSE(killed.status.is_success());
}

TEST(Process, GetsExactlyTheEnvironmentGiven) {
  SpawnRequest request;
  request.program = "/usr/bin/env";
  request.environment = {"ONE=1", "TWO=2"};
  EXPECT_EQ(output_of(request), "ONE=1\nTWO=2\n");
}

TEST(Process, GetsOnlyTheDescriptorsNamed) {
  const Fd extra = open_file("/dev/null", O_RDONLY).value();
  // Neither of ours without O_CLOEXEC reaches the child.
  const Fd leaked(::open("/dev/zero", O_RDONLY));  // NOLINT(android-cloexec-open)
  SpawnRequest request;
  request.program = "/bin/ls";
  request.arguments = {"/proc/self/fd"};
  request.descriptors = {{extra.get(), 64}, {extra.get(), 70}};
  // 3 is the directory that ls reads.
  EXPECT_EQ(output_of(request), "0\n1\n2\n3\n64\n70\n");
}

TEST(Process, DescriptorsMayCrossEachOther) {
  const TempDir directory = TempDir::create().value();
  ASSERT_TRUE(write_file_durably(directory / "a", "a").has_value());
  ASSERT_TRUE(write_file_durably(directory / "b", "b").has_value());
  const Fd a(::fcntl(open_file(directory / "a", O_RDONLY).value().get(), F_DUPFD_CLOEXEC, 64));
  const Fd b(::fcntl(open_file(directory / "b", O_RDONLY).value().get(), F_DUPFD_CLOEXEC, 65));
  SpawnRequest request =
      shell("cat /dev/fd/" + std::to_string(a.get()) + " /dev/fd/" + std::to_string(b.get()));
  request.descriptors = {{a.get(), b.get()}, {b.get(), a.get()}};
  EXPECT_EQ(output_of(request), "ba");
}

TEST(Process, MissingProgramsAreAnErrorThatNamesThem) {
  SpawnRequest request;
  request.program = "/no/such/program";
  const Result<ChildProcess> child = ChildProcess::spawn(request);
  ASSERT_FALSE(child.has_value());
  EXPECT_NE(child.error().message.find("/no/such/program"), std::string::npos);
  request.program = "no-such-program-anywhere";
  request.search_path = true;
  EXPECT_EQ(ChildProcess::spawn(request).error().code, Code::not_found);
}

TEST(Process, IsFoundInThePathWhenAsked) {
  SpawnRequest request;
  request.program = "true";
  request.search_path = true;
  EXPECT_TRUE(run_captured(request, seconds(20)).value().status.is_success());
}

TEST(Process, WaitingEndsAtItsLimitAndCanBeRepeated) {
  ChildProcess child = ChildProcess::spawn(shell("exec sleep 30")).value();
  EXPECT_EQ(child.wait(milliseconds(20)).error().code, Code::timeout);
  ASSERT_TRUE(child.signal(SIGTERM).has_value());
  EXPECT_EQ(child.wait(seconds(20)).value().signal, SIGTERM);
  EXPECT_EQ(child.wait().value().signal, SIGTERM);
  EXPECT_TRUE(child.signal(SIGTERM).has_value());
}

TEST(Process, PidfdIsReadableWhenTheChildEnded) {
  ChildProcess child = ChildProcess::spawn(shell("exit 0")).value();
  pollfd watched{.fd = child.pidfd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&watched, 1, 20'000), 1);
}

TEST(Process, IsKilledWhenItsOwnerGoes) {
  pid_t pid = -1;
  {
    const ChildProcess child = ChildProcess::spawn(shell("exec sleep 30")).value();
    pid = child.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Process, OutlivesItsOwnerWhenDetached) {
  pid_t pid = -1;
  {
    ChildProcess child = ChildProcess::spawn(shell("exec sleep 30")).value();
    pid = child.pid();
    child.detach();
  }
  EXPECT_EQ(::kill(pid, 0), 0);
  ::kill(pid, SIGKILL);
}

TEST(Process, StartsInASessionOfItsOwnWhenAsked) {
  SpawnRequest request = shell("ps -o sid= -p $$; echo $$");
  request.new_session = true;
  const std::string lines = output_of(request);
  const std::size_t end = lines.find('\n');
  EXPECT_EQ(std::stoi(lines.substr(0, end)), std::stoi(lines.substr(end)));
}

TEST(Process, DiesWithItsParentWhenAsked) {
  const TempDir directory = TempDir::create().value();
  const pid_t middle = ::fork();
  if (middle == 0) {
    SpawnRequest request = shell("exec sleep 30");
    request.die_with_parent = true;
    ChildProcess child = ChildProcess::spawn(request).value();
    static_cast<void>(
        write_file_durably(directory / "pid", std::to_string(child.pid())).has_value());
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(middle, nullptr, 0), middle);
  const pid_t child = std::stoi(read_file(directory / "pid").value());
  for (int i = 0; i < 200 && process_start_time(child).has_value(); ++i)
    std::this_thread::sleep_for(milliseconds(10));
  EXPECT_NE(::kill(child, 0), 0);
}

TEST(Process, RunsAsAnotherUserWithoutGroups) {
  REQUIRE_CAPABILITY(root);
  SpawnRequest request = shell("id -u; id -g; id -G");
  request.uid = 12'345;
  request.gid = 12'346;
  request.directory = "/";
  EXPECT_EQ(output_of(request), "12345\n12346\n12346\n");
}

// Allocates from ever new stacks: of these a sanitizer keeps books, under locks of its own.
void allocate(int depth, std::uint64_t path) {
  const auto memory = std::make_unique<std::uint64_t>(path);
  if (depth == 0) return;
  if ((*memory & 1U) != 0)
    allocate(depth - 1, path >> 1U);
  else
    allocate(depth - 1, path >> 1U | 1ULL << 63U);
}

TEST(Process, StartsWhateverOtherThreadsHold) {
  std::vector<std::jthread> threads;
  for (std::uint64_t number = 1; number <= 3; ++number)
    threads.emplace_back([number](const std::stop_token& stop) {
      for (std::uint64_t path = number; !stop.stop_requested();
           path = path * 6364136223846793005U + 1)
        allocate(24, path);
    });
  SpawnRequest request;
  request.program = "/bin/true";
  for (int round = 0; round < 100; ++round)
    ASSERT_TRUE(run_captured(request, seconds(20)).value().status.is_success()) << round;
}

TEST(Process, LeavesNothingBehindWhereItCannotStart) {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  SpawnRequest request;
  request.program = "/nowhere/program";
  EXPECT_FALSE(ChildProcess::spawn(request).has_value());
  // Its last moments may take a while.
  for (int round = 0; round < 50; ++round) {
    ASSERT_LE(::waitpid(-1, nullptr, WNOHANG), 0) << "a zombie is left";
    std::this_thread::sleep_for(milliseconds(10));
  }
}

TEST(RunCaptured, IsBoundedInTimeAndSize) {
  EXPECT_EQ(run_captured(shell("exec sleep 30"), milliseconds(50)).error().code, Code::timeout);
  EXPECT_EQ(run_captured(shell("yes"), seconds(20), 1000).error().code, Code::exhausted);
}

TEST(ProcessStartTime, NamesAProcessForTheLifeOfTheMachine) {
  const std::uint64_t own = process_start_time(::getpid()).value();
  EXPECT_EQ(process_start_time(::getpid()).value(), own);
  ChildProcess child = ChildProcess::spawn(shell("exec sleep 30")).value();
  EXPECT_GE(process_start_time(child.pid()).value(), own);
  EXPECT_EQ(process_start_time(99'999'999).error().code, Code::not_found);
}

TEST(ProcessStartTime, IsReadBehindNamesWithParentheses) {
  const TempDir directory = TempDir::create().value();
  const std::string program = directory / "a) b (c";
  ASSERT_EQ(::symlink("/bin/sleep", program.c_str()), 0);
  SpawnRequest request;
  request.program = program;
  request.arguments = {"30"};
  const ChildProcess child = ChildProcess::spawn(request).value();
  EXPECT_GE(process_start_time(child.pid()).value(), process_start_time(::getpid()).value());
}

TEST(ProgramDirectory, IsWhereTheTestLies) {
  EXPECT_EQ(::access((program_directory().value() + "/os_test").c_str(), X_OK), 0);
}

}  // namespace
}  // namespace os
