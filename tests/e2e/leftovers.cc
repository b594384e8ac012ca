#include "tests/e2e/leftovers.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/os/files.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) { return os::read_file(path).value_or(std::string()); }

// The targets of a process's descriptors, one a line.
std::string open_files(const fs::path& process) {
  std::string names;
  std::error_code error;
  for (fs::directory_iterator file(process / "fd", error), end; !error && file != end;
       file.increment(error)) {
    std::error_code gone;
    names += fs::read_symlink(file->path(), gone).string() + "\n";
  }
  return names;
}

// The name of its program, also where the file is another one by now.
std::string program_of(const fs::path& process) {
  std::error_code gone;
  std::string name = fs::read_symlink(process / "exe", gone).filename();
  return name.substr(0, name.find(' '));
}

// Of programs of ours only: a shell of somebody who looks into our directory is not ours.
bool is_marked(const fs::path& process, const Marks& marks) {
  if (text_of(process / "cgroup").contains(marks.cgroup)) return true;
  constexpr std::array kPrograms{"proofhouse", "attempt", "jail", "ingest", "reader"};
  if (std::ranges::find(kPrograms, program_of(process)) == kPrograms.end()) return false;
  for (const char* file : {"environ", "mountinfo"})
    if (text_of(process / file).contains(marks.place)) return true;
  return open_files(process).contains(marks.place);
}

// Field 3 of stat, after the name in parentheses (man 5 proc).
char state_of(const fs::path& process) {
  const std::string stat = text_of(process / "stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
}

}  // namespace

std::vector<MarkedProcess> processes_with(const Marks& marks) {
  std::vector<MarkedProcess> found;
  for (const std::string& name : os::list_directory("/proc").value_or(std::vector<std::string>())) {
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size() || pid == ::getpid()) continue;
    const fs::path process = fs::path("/proc") / name;
    const char state = state_of(process);
    if (state == 'X' || state == 'Z' || !is_marked(process, marks)) continue;
    MarkedProcess one{.pid = pid,
                      .program = {},
                      .command = text_of(process / "cmdline"),
                      .is_stopped = state == 'T'};
    std::ranges::replace(one.command, '\0', ' ');
    one.program = program_of(process);
    found.push_back(std::move(one));
  }
  return found;
}

std::vector<std::string> mounts_with(const std::string& mark) {
  std::vector<std::string> found;
  std::istringstream table(text_of("/proc/self/mountinfo"));
  for (std::string line; std::getline(table, line);)
    if (line.contains(mark)) found.push_back(line);
  return found;
}

std::vector<std::string> cgroups_with(const std::string& prefix) {
  const os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  if (!host) return {"cgroups cannot be read: " + host.error().message};
  return host->list(prefix).value_or(std::vector<std::string>{"groups cannot be listed"});
}

}  // namespace tests
