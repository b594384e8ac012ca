// Attacks of group E: ways out of the sandbox by files, descriptors, process 1 and privileges.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "tests/guests/attack.h"

namespace {

using guest::Arguments;
using guest::held;
using guest::judge;
using guest::reached;

bool is_null_device(int descriptor) {
  struct stat info{};
  return ::fstat(descriptor, &info) == 0 && S_ISCHR(info.st_mode) &&
         info.st_rdev == ::makedev(1, 3);
}

// Process 1 gives up its rights just after the command has started: looks at it for a while.
template <class Try>
long repeat(Try attempt) {
  long result = attempt();
  for (int round = 0; round < 30 && result < 0; ++round) {
    ::usleep(10'000);
    result = attempt();
  }
  return result;
}

bool is_of_process_1(const char* path) { return std::string_view(path).starts_with("/proc/1/"); }

// Opens and writes nothing.
int open_to_write(Arguments arguments) {
  const int file = ::open(arguments[0], O_WRONLY | O_CLOEXEC);
  if (file >= 0 && is_null_device(file)) return held("null device");
  return judge(file, arguments[0]);
}

int open_to_read(Arguments arguments) {
  const auto open = [&] { return ::open(arguments[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK); };
  return judge(is_of_process_1(arguments[0]) ? repeat(open) : open(), arguments[0]);
}

int create(Arguments arguments) {
  return judge(::open(arguments[0], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644), arguments[0]);
}

int read_link(Arguments arguments) {
  char text[4096];
  return judge(repeat([&] { return ::readlink(arguments[0], text, sizeof text); }), arguments[0]);
}

int enter(Arguments arguments) {
  return judge(repeat([&] { return ::chdir(arguments[0]); }), arguments[0]);
}

int list_descriptors(Arguments /*unused*/) {
  DIR* const directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) return held("no list");
  std::set<std::string> open;
  while (const dirent* entry = ::readdir(directory))
    if (entry->d_name[0] != '.' && std::stoi(entry->d_name) != ::dirfd(directory))
      open.insert(entry->d_name);
  if (open == std::set<std::string>{"0", "1", "2"}) return held("0 1 2");
  return reached("descriptor " + *open.rbegin());
}

// A directory of the host that somebody forgot to close (CVE-2024-21626).
int find_leaked_directory(Arguments arguments) {
  for (int descriptor = 3; descriptor < 1024; ++descriptor)
    if (::openat(descriptor, arguments[0], O_RDONLY | O_CLOEXEC) >= 0)
      return reached("by descriptor " + std::to_string(descriptor));
  return held("none");
}

// The directory above the root, where the old one would be.
int look_behind_root(Arguments arguments) {
  if (::chdir("/..") != 0) return held("no way up");
  return ::access(arguments[0], F_OK) == 0 ? reached(arguments[0]) : held("the same root");
}

int trace_process_1(Arguments /*unused*/) {
  return judge(repeat([] { return ::ptrace(PTRACE_SEIZE, 1, nullptr, nullptr); }), "process 1");
}

int read_memory_of_process_1(Arguments /*unused*/) {
  char byte = 0;
  iovec local{&byte, 1};
  iovec remote{&byte, 1};
  return judge(repeat([&] {
                 const ssize_t got = ::process_vm_readv(1, &local, 1, &remote, 1, 0);
                 // EFAULT: it was let in, but there is nothing at that address.
                 return got < 0 && errno == EFAULT ? 0 : got;
               }),
               "its memory");
}

int signal_process_1(Arguments /*unused*/) {
  return judge(repeat([] { return ::kill(1, 0); }), "process 1");
}

int make_set_uid(Arguments /*unused*/) {
  std::ofstream("file") << "x";
  return judge(::chmod("file", 04755), "a set-uid file");
}

int create_set_uid(Arguments /*unused*/) {
  ::umask(0);
  const int file = ::open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 04755);
  if (file < 0) return held(guest::error_name(errno));
  struct stat info{};
  ::fstat(file, &info);
  return (info.st_mode & S_ISUID) != 0 ? reached("a set-uid file") : held("mode cut");
}

int set_file_capability(Arguments /*unused*/) {
  std::ofstream("file") << "x";
  // vfs_cap_data of revision 2 with CAP_SYS_ADMIN, effective (include/uapi/linux/capability.h).
  const unsigned char value[20] = {1, 0, 0, 2, 0, 0, 0x20, 0};
  return judge(::setxattr("file", "security.capability", value, sizeof value, 0), "capability");
}

// Executes a program that belongs to user 0 and has its set-uid bit.
int execute_set_uid(Arguments arguments) {
  ::execl(arguments[0], arguments[0], "effective_user", nullptr);
  return held(guest::error_name(errno));
}

int effective_user(Arguments /*unused*/) {
  return ::geteuid() == 0 ? reached("user 0") : held("user " + std::to_string(::geteuid()));
}

int capabilities(Arguments /*unused*/) {
  std::ifstream status("/proc/self/status");
  std::string none;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:") && !line.starts_with("CapPrm:")) continue;
    if (line.find_first_not_of("0", 8) != std::string::npos) return reached(line);
    none += line.substr(0, 6) + " ";
  }
  return held(none + "are empty");
}

// One line of a process' status, as it should be.
int status_line(Arguments arguments) {
  const std::string name = std::string(arguments[1]) + ":";
  const std::string wanted = name + "\t" + arguments[2];
  std::string found;
  const long is_other = repeat([&]() -> long {
    std::ifstream status(arguments[0]);
    while (std::getline(status, found) && !found.starts_with(name)) continue;
    return found == wanted ? 0 : -1;
  });
  return is_other == 0 ? held(arguments[2]) : reached(found);
}

int secure_bits(Arguments /*unused*/) {
  // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE with their locks, KEEP_CAPS_LOCKED.
  const int bits = ::prctl(PR_GET_SECUREBITS);
  return bits == 0xef ? held("locked") : reached("securebits " + std::to_string(bits));
}

int make_device(Arguments arguments) {
  const auto kind = arguments[0][0] == 'b' ? S_IFBLK : S_IFCHR;
  const auto number = ::makedev(static_cast<unsigned>(std::stoi(arguments[1])),
                                static_cast<unsigned>(std::stoi(arguments[2])));
  return judge(::mknod("node", static_cast<mode_t>(kind | 0666), number), "a device node");
}

int mount_something(Arguments arguments) {
  ::mkdir("place", 0755);
  const int done = ::mount("none", "place", arguments[0], 0, nullptr);
  const int result = judge(done, arguments[0]);
  if (done == 0) ::umount2("place", MNT_DETACH);
  return result;
}

int leave_core(Arguments /*unused*/) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_DUMPABLE, 1);
    ::abort();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WCOREDUMP(status) ? reached("a core file") : held("no core file");
}

int own_session(Arguments /*unused*/) {
  if (::open("/dev/tty", O_RDWR | O_CLOEXEC) >= 0) return reached("a terminal");
  return ::getsid(0) == ::getpid() ? held("its own") : reached("session of another");
}

constexpr guest::Attack kAttacks[] = {
    {"open_to_write", open_to_write},
    {"open_to_read", open_to_read},
    {"create", create},
    {"read_link", read_link},
    {"enter", enter},
    {"list_descriptors", list_descriptors},
    {"find_leaked_directory", find_leaked_directory},
    {"look_behind_root", look_behind_root},
    {"trace_process_1", trace_process_1},
    {"read_memory_of_process_1", read_memory_of_process_1},
    {"signal_process_1", signal_process_1},
    {"make_set_uid", make_set_uid},
    {"create_set_uid", create_set_uid},
    {"set_file_capability", set_file_capability},
    {"execute_set_uid", execute_set_uid},
    {"effective_user", effective_user},
    {"capabilities", capabilities},
    {"status_line", status_line},
    {"secure_bits", secure_bits},
    {"make_device", make_device},
    {"mount_something", mount_something},
    {"leave_core", leave_core},
    {"own_session", own_session},
};

}  // namespace

int main(int count, char** arguments) { return guest::run(kAttacks, count, arguments); }
