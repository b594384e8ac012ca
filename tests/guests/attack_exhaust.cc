// Attacks of groups X and S: taking more than was given, and outliving the command. Each is
// bounded, so that it ends by itself where nothing stops it.
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <vector>

#include "tests/guests/attack.h"

namespace {

using guest::Arguments;
using guest::held;
using guest::judge;
using guest::reached;

constexpr std::size_t kMiB = 1U << 20U;
// More than twice the 32 MiB that these rows are given.
constexpr std::size_t kHog = 72 * kMiB;

void touch(void* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
}

// As many children as it gets, at most `most`; `body` runs in each.
int make_children(int most, void (*body)()) {
  for (int count = 0; count < most; ++count) {
    const pid_t child = ::fork();
    if (child < 0) return held(guest::error_name(errno));
    if (child > 0) continue;
    body();
    ::_exit(0);
  }
  return reached(std::to_string(most) + " processes");
}

int fork_bomb(Arguments /*unused*/) {
  return make_children(100, [] { ::pause(); });
}

int zombie_bomb(Arguments /*unused*/) {
  return make_children(100, [] {});
}

int anonymous_memory(Arguments /*unused*/) {
  void* const memory =
      ::mmap(nullptr, kHog, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  touch(memory, kHog);
  return reached("all of it");
}

int fill(int file, std::size_t bytes) {
  std::vector<char> block(kMiB, 'x');
  for (std::size_t done = 0; done < bytes; done += block.size())
    if (::write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
      return held(errno == 0 ? "ENOSPC" : guest::error_name(errno));
  return reached("all of it");
}

int file_memory(Arguments arguments) {
  errno = 0;
  return fill(::open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644), kHog);
}

int descriptor_memory(Arguments /*unused*/) {
  return fill(::memfd_create("hog", MFD_CLOEXEC), kHog);
}

int segment_memory(Arguments /*unused*/) {
  const int segment = ::shmget(IPC_PRIVATE, kHog, IPC_CREAT | 0600);
  void* const memory = ::shmat(segment, nullptr, 0);
  ::shmctl(segment, IPC_RMID, nullptr);
  touch(memory, kHog);
  return reached("all of it");
}

int locked_memory(Arguments /*unused*/) {
  void* const memory =
      ::mmap(nullptr, 16 * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return judge(::mlock(memory, 16 * kMiB), "16 MiB");
}

// Bytes that the kernel holds in sockets that nobody reads.
int socket_memory(Arguments /*unused*/) {
  std::vector<char> block(64U << 10U, 'x');
  std::size_t sent = 0;
  for (int pair = 0; pair < 450 && sent < kHog; ++pair) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return held(guest::error_name(errno));
    for (ssize_t got = 0; (got = ::send(ends[0], block.data(), block.size(), 0)) > 0;)
      sent += static_cast<std::size_t>(got);
  }
  return sent >= kHog ? reached("all of it") : held("cut short");
}

int pipe_memory(Arguments /*unused*/) {
  std::vector<char> block(64U << 10U, 'x');
  // Twice that is where the kernel stops pipes of one user (man 7 pipe, pipe-user-pages-soft).
  constexpr std::size_t kPipes = 48 * kMiB;
  std::size_t sent = 0;
  for (int pair = 0; pair < 450 && sent < kPipes; ++pair) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) != 0) return held(guest::error_name(errno));
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    for (ssize_t got = 0; (got = ::write(ends[1], block.data(), block.size())) > 0;)
      sent += static_cast<std::size_t>(got);
  }
  return sent >= kPipes ? reached("all of it") : held("cut short");
}

int fill_disk(Arguments arguments) {
  errno = 0;
  return fill(::open(arguments[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0644), 32 * kMiB);
}

int reserve_disk(Arguments /*unused*/) {
  const int file = ::open("reserved", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return judge(::fallocate(file, 0, 0, 32 * kMiB), "32 MiB");
}

int many_files(Arguments /*unused*/) {
  for (int count = 0; count < 2000; ++count)
    if (::open(std::to_string(count).c_str(), O_WRONLY | O_CREAT, 0644) < 0 || ::close(3) != 0)
      return held(guest::error_name(errno));
  return reached("2000 files");
}

// An offset of exabytes, where the file holds nothing.
int sparse_file(Arguments /*unused*/) {
  ::signal(SIGXFSZ, SIG_IGN);
  const int file = ::open("sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return judge(::ftruncate(file, 1LL << 50U), "a file of a pebibyte");
}

int open_files(Arguments /*unused*/) {
  for (int count = 0; count < 200; ++count)
    if (::open("/dev/null", O_RDONLY) < 0) return held(guest::error_name(errno));
  return reached("200 files");
}

// Without a newline, with NUL bytes.
int flood(Arguments arguments) {
  const std::vector<char> block(64U << 10U, arguments[0][0] == '0' ? '\0' : 'x');
  for (int count = 0; count < 64; ++count)
    if (::write(1, block.data(), block.size()) < 0) return 1;
  std::printf("\n");
  return reached("4 MiB");
}

// Directories in directories, deeper than any path may be long.
int deep_tree(Arguments /*unused*/) {
  const std::string name(200, 'd');
  for (int depth = 0; depth < 1000; ++depth)
    if (::mkdir(name.c_str(), 0755) != 0 || ::chdir(name.c_str()) != 0)
      return held(guest::error_name(errno));
  return held("1000 levels");
}

int odd_names(Arguments /*unused*/) {
  for (const std::string& name : {std::string(255, 'n'), std::string("line\nbreak"),
                                  std::string("\xff\xfe"), std::string("\x1b[31mred")})
    if (::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) < 0) return reached("not made");
  return held("made");
}

int affinity(Arguments /*unused*/) {
  cpu_set_t all;
  CPU_ZERO(&all);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  // Asks for all; the kernel gives those that the group may use.
  ::sched_setaffinity(0, sizeof all, &all);
  ::sched_getaffinity(0, sizeof all, &all);
  const int count = CPU_COUNT(&all);
  return count == 1 ? held("one CPU") : reached(std::to_string(count) + " CPUs");
}

int nice_priority(Arguments /*unused*/) {
  return judge(::setpriority(PRIO_PROCESS, 0, -20), "nice -20");
}

int real_time(Arguments /*unused*/) {
  sched_param parameters{};
  parameters.sched_priority = 1;
  const int done = ::sched_setscheduler(0, SCHED_FIFO, &parameters);
  const int error = errno;
  parameters.sched_priority = 0;
  if (done == 0) ::sched_setscheduler(0, SCHED_OTHER, &parameters);
  errno = error;
  return judge(done, "a real-time class");
}

int queued_signals(Arguments /*unused*/) {
  ::signal(SIGRTMIN, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGRTMIN);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  for (int count = 0; count < 5000; ++count)
    if (::sigqueue(::getpid(), SIGRTMIN, {}) != 0) return held(guest::error_name(errno));
  return reached("5000 signals");
}

int timers(Arguments /*unused*/) {
  for (int count = 0; count < 5000; ++count) {
    timer_t timer{};
    if (::timer_create(CLOCK_MONOTONIC, nullptr, &timer) != 0)
      return held(guest::error_name(errno));
  }
  return reached("5000 timers");
}

int queue_bytes(Arguments /*unused*/) {
  for (int count = 0; count < 40; ++count) {
    mq_attr shape{};
    shape.mq_maxmsg = 10;
    shape.mq_msgsize = 8192;
    const std::string name = "/q" + std::to_string(count);
    if (::mq_open(name.c_str(), O_RDWR | O_CREAT, 0600, &shape) < 0)
      return held(guest::error_name(errno));
  }
  return reached("40 queues");
}

int stop_itself(Arguments /*unused*/) {
  ::kill(::getpid(), SIGSTOP);
  return held("continued");
}

int ignore_all(Arguments /*unused*/) {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  for (;;) ::sleep(60);
}

int sleep_silently(Arguments /*unused*/) {
  for (;;) ::sleep(60);
}

// A grandchild in a session of its own, deaf to hang-ups, that outlives the command.
int leave_daemon(Arguments /*unused*/) {
  if (::fork() == 0) {
    ::setsid();
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    if (::fork() != 0) ::_exit(0);
    ::close(0);
    ::close(1);
    ::close(2);
    for (int count = 0; count < 60; ++count) ::sleep(1);
    ::_exit(0);
  }
  ::usleep(100'000);
  return held("left");
}

int stay(Arguments /*unused*/) {
  std::printf("here\n");
  std::fflush(stdout);
  for (int count = 0; count < 60; ++count) ::sleep(1);
  return reached("the end");
}

int rest(Arguments /*unused*/) {
  ::usleep(500'000);
  return held("rested");
}

// Persistent hooks in a home directory.
int persist(Arguments arguments) {
  for (const char* const name : {"/.bashrc", "/.profile", "/.gitconfig", "/.nv", "/.ccache"})
    if (::open((std::string(arguments[0]) + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644) <
        0)
      return reached("not written");
  return held("written");
}

int link_to(Arguments arguments) {
  return ::symlink(arguments[0], arguments[1]) == 0 ? held("made") : reached("not made");
}

constexpr guest::Attack kAttacks[] = {
    {"fork_bomb", fork_bomb},
    {"zombie_bomb", zombie_bomb},
    {"anonymous_memory", anonymous_memory},
    {"file_memory", file_memory},
    {"descriptor_memory", descriptor_memory},
    {"segment_memory", segment_memory},
    {"locked_memory", locked_memory},
    {"socket_memory", socket_memory},
    {"pipe_memory", pipe_memory},
    {"fill_disk", fill_disk},
    {"reserve_disk", reserve_disk},
    {"many_files", many_files},
    {"sparse_file", sparse_file},
    {"open_files", open_files},
    {"flood", flood},
    {"deep_tree", deep_tree},
    {"odd_names", odd_names},
    {"affinity", affinity},
    {"nice_priority", nice_priority},
    {"real_time", real_time},
    {"queued_signals", queued_signals},
    {"timers", timers},
    {"queue_bytes", queue_bytes},
    {"stop_itself", stop_itself},
    {"ignore_all", ignore_all},
    {"sleep_silently", sleep_silently},
    {"leave_daemon", leave_daemon},
    {"stay", stay},
    {"rest", rest},
    {"persist", persist},
    {"link_to", link_to},
};

}  // namespace

int main(int count, char** arguments) { return guest::run(kAttacks, count, arguments); }
