#include "sandbox/os/failpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

namespace os {
namespace {

// The armed list, read once: the environment does not change under a running program.
const std::string& armed() {
  static const std::string list = [] {
    const char* value = std::getenv("PROOFHOUSE_FAILPOINT");
    return std::string(value == nullptr ? "" : value);
  }();
  return list;
}

bool create_marker(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

void act(std::string_view options) {
  std::string pause;
  while (!options.empty()) {
    options.remove_prefix(1);
    const std::string_view option = options.substr(0, options.find(':'));
    options.remove_prefix(option.size());
    if (option.starts_with("once=") && !create_marker(std::string(option.substr(5)))) return;
    if (option.starts_with("pause=")) pause = option.substr(6);
  }
  if (pause.empty()) {
    ::kill(::getpid(), SIGKILL);
    return;
  }
  create_marker(pause);
  // To this very thread: a stop of the process as a whole is taken by whichever thread runs first,
  // and this one would go on until then.
  ::raise(SIGSTOP);
}

}  // namespace

void failpoint(std::string_view name) {
  std::string_view list = armed();
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(entry.size() == list.size() ? entry.size() : entry.size() + 1);
    if (entry.substr(0, entry.find(':')) == name) act(entry.substr(name.size()));
  }
}

}  // namespace os
