// Honest work of debuggers and libraries: attaches to its own child and reads its registers and
// memory; asks for the network interfaces as NCCL does; passes a message; turns address
// randomisation off.
#include <fcntl.h>
#include <ifaddrs.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

bool attach_to_child() {
  static volatile int value = 42;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  int status = 0;
  user_regs_struct registers{};
  int copy = 0;
  iovec local{&copy, sizeof copy};
  iovec remote{const_cast<int*>(&value), sizeof value};
  const bool works = ::ptrace(PTRACE_ATTACH, child, nullptr, nullptr) == 0 &&
                     ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
                     ::ptrace(PTRACE_GETREGS, child, nullptr, &registers) == 0 &&
                     ::process_vm_readv(child, &local, 1, &remote, 1, 0) == sizeof copy &&
                     copy == 42 && ::ptrace(PTRACE_DETACH, child, nullptr, nullptr) == 0;
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return works;
}

bool list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return false;
  std::string names;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next)
    names += entry->ifa_name;
  ::freeifaddrs(list);
  return names.starts_with("lo");
}

bool pass_a_message() {
  const mqd_t queue = ::mq_open("/honest", O_RDWR | O_CREAT, 0600, nullptr);
  char text[8192];
  return queue >= 0 && ::mq_send(queue, "x", 1, 0) == 0 &&
         ::mq_receive(queue, text, sizeof text, nullptr) == 1;
}

}  // namespace

int main() {
  std::printf("attach %s\n", attach_to_child() ? "works" : "fails");
  std::printf("interfaces %s\n", list_interfaces() ? "work" : "fail");
  std::printf("messages %s\n", pass_a_message() ? "work" : "fail");
  std::printf("fixed addresses %s\n", ::personality(ADDR_NO_RANDOMIZE) >= 0 ? "work" : "fail");
  return 0;
}
