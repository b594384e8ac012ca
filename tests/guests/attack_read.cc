// Attacks of group R: what a command could learn of the host or of another command.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/guests/attack.h"

namespace {

using guest::Arguments;
using guest::held;
using guest::judge;
using guest::reached;

int exists(Arguments arguments) {
  for (const char* const path : arguments)
    if (::access(path, F_OK) == 0) return reached(path);
  return held("none is there");
}

// Files that tell of the host: either absent or the null device.
int hidden(Arguments arguments) {
  for (const char* const path : arguments) {
    struct stat info{};
    if (::stat(path, &info) != 0) continue;
    const bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == ::makedev(1, 3);
    if (!is_null) return reached(path);
  }
  return held("null devices");
}

int environment(Arguments arguments) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('='));
    if (std::ranges::find(arguments, name) == arguments.end()) return reached(name);
  }
  return held("as asked for");
}

int processes(Arguments /*unused*/) {
  DIR* const directory = ::opendir("/proc");
  int count = 0;
  while (const dirent* entry = ::readdir(directory))
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9') ++count;
  return count == 2 ? held("itself and process 1") : reached(std::to_string(count) + " processes");
}

int host_name(Arguments /*unused*/) {
  utsname name{};
  ::uname(&name);
  return std::string(name.nodename) == "proofhouse" ? held("proofhouse") : reached(name.nodename);
}

int abstract_socket(Arguments arguments) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = arguments[0];
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return judge(::connect(socket, reinterpret_cast<const sockaddr*>(&address), length), name);
}

int loopback(Arguments arguments) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<unsigned short>(std::stoi(arguments[0])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return judge(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address),
               "the host's loopback");
}

int shared_segment(Arguments arguments) {
  return judge(::shmget(std::stoi(arguments[0]), 0, 0), "a segment of the host");
}

int message_queue(Arguments arguments) {
  return judge(::mq_open(arguments[0], O_RDONLY), arguments[0]);
}

int leave_mark(Arguments arguments) {
  std::ofstream(std::string(arguments[0]) + "/mark") << "x";
  return ::access((std::string(arguments[0]) + "/mark").c_str(), F_OK) == 0 ? held("left")
                                                                            : reached("no mark");
}

// A line of a file that should not be there.
int mentions(Arguments arguments) {
  std::ifstream file(arguments[0]);
  for (std::string line; std::getline(file, line);)
    for (const char* const word : arguments.subspan(1))
      if (line.contains(word)) return reached(line.substr(0, 200));
  return held("no mention");
}

// A group by its own name: "/" is where the namespace begins.
int group_path(Arguments /*unused*/) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (!line.ends_with(":/")) return reached(line);
  return held("/");
}

int id_map(Arguments /*unused*/) {
  std::ifstream file("/proc/self/uid_map");
  unsigned long inside = 0;
  unsigned long outside = 0;
  unsigned long count = 0;
  file >> inside >> outside >> count;
  return outside >= 100'000 && count <= 65'536 ? held("a range of its own")
                                               : reached("user " + std::to_string(outside));
}

int groups(Arguments /*unused*/) {
  const int count = ::getgroups(0, nullptr);
  return count == 0 ? held("none") : reached(std::to_string(count) + " groups");
}

int all_ids(Arguments /*unused*/) {
  std::vector<unsigned> ids(6);
  ::getresuid(&ids[0], &ids[1], &ids[2]);
  ::getresgid(&ids[3], &ids[4], &ids[5]);
  return std::ranges::all_of(ids, [](unsigned id) { return id == 1000; }) ? held("1000")
                                                                          : reached("other ids");
}

int interfaces(Arguments /*unused*/) {
  std::ifstream file("/proc/self/net/dev");
  std::string line;
  std::string names;
  std::getline(file, line);
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    names += name;
  }
  return names == "lo:" ? held("lo") : reached(names);
}

constexpr guest::Attack kAttacks[] = {
    {"exists", exists},
    {"hidden", hidden},
    {"environment", environment},
    {"processes", processes},
    {"host_name", host_name},
    {"abstract_socket", abstract_socket},
    {"loopback", loopback},
    {"shared_segment", shared_segment},
    {"message_queue", message_queue},
    {"leave_mark", leave_mark},
    {"mentions", mentions},
    {"group_path", group_path},
    {"id_map", id_map},
    {"groups", groups},
    {"all_ids", all_ids},
    {"interfaces", interfaces},
};

}  // namespace

int main(int count, char** arguments) { return guest::run(kAttacks, count, arguments); }
