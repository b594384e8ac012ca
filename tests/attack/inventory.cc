#include "tests/attack/inventory.h"

#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "sandbox/cgroup.h"

namespace tests {
namespace {

namespace fs = std::filesystem;

bool is_of(std::uint64_t id, const sandbox::IdRange& ids) {
  return id >= ids.start && id - ids.start < ids.count;
}

// Dead already, and only not yet waited for by the machine's first process.
bool is_zombie(const std::string& process) {
  std::ifstream stat("/proc/" + process + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end, 3) == ") Z";
}

// Sysctls that count or that the kernel moves (Documentation/admin-guide/sysctl).
bool moves_by_itself(std::string_view path) {
  constexpr std::array<std::string_view, 14> kMoving{
      "random/",      "dentry-state", "file-nr",        "inode-",          "aio-nr",
      "ns_last_pid",  "pty/nr",       "perf_event_max", "nf_conntrack_co", "tcp_mem",
      "sched_domain", "quota/",       "neigh/",         "max_loop_percpu"};
  for (const std::string_view moving : kMoving)
    if (path.contains(moving)) return true;
  // One directory for each interface: not the machine's.
  return path.contains("/conf/");
}

void add_sysctls(Inventory& inventory) {
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(
           "/proc/sys", fs::directory_options::skip_permission_denied, none)) {
    const std::string path = entry.path();
    if (moves_by_itself(path) || !entry.is_regular_file(none)) continue;
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    inventory.insert("sysctl " + path + " " + text.str());
  }
}

void add_processes(const sandbox::IdRange& ids, Inventory& inventory) {
  for (const std::string& number : processes_of(ids)) {
    std::error_code none;
    inventory.insert("process " + number);
    inventory.insert("network " + fs::read_symlink("/proc/" + number + "/ns/net", none).string());
  }
}

void add_segments(const sandbox::IdRange& ids, Inventory& inventory) {
  for (const std::string kind : {"shm", "msg", "sem"}) {
    std::ifstream list("/proc/sysvipc/" + kind);
    std::string line;
    std::getline(list, line);
    while (std::getline(list, line)) {
      std::istringstream words(line);
      for (std::uint64_t number = 0; words >> number;)
        if (is_of(number, ids)) inventory.insert(kind + line);
    }
  }
}

void add_mounts(const std::string& directory, Inventory& inventory) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);)
    if (line.contains(directory)) inventory.insert("mount " + line);
}

void add_files(const std::string& directory, Inventory& inventory) {
  std::error_code none;
  for (const auto& entry : fs::recursive_directory_iterator(directory, none)) {
    const std::string path = entry.path();
    if (path.starts_with(directory + "/attempt/runs") || path == directory + "/launch") continue;
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) continue;
    std::ostringstream line;
    line << "file " << path << " " << std::oct << info.st_mode << std::dec << " " << info.st_uid
         << " " << (S_ISREG(info.st_mode) ? info.st_size : 0);
    inventory.insert(line.str());
  }
}

void add_groups(const std::string& prefix, Inventory& inventory) {
  const os::Result<sandbox::CgroupHost> host = sandbox::CgroupHost::detect();
  if (!host) return;
  const os::Result<std::vector<std::string>> groups = host->list(prefix);
  if (!groups) return;
  for (const std::string& group : *groups) inventory.insert("group " + group);
}

}  // namespace

std::set<std::string> processes_of(const sandbox::IdRange& ids) {
  std::set<std::string> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none)) {
    struct stat info{};
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (::stat(entry.path().c_str(), &info) != 0) continue;
    if (is_of(info.st_uid, ids) && !is_zombie(name)) found.insert(name);
  }
  return found;
}

Inventory take_inventory(const InventoryScope& scope) {
  Inventory inventory;
  add_sysctls(inventory);
  add_processes(scope.ids, inventory);
  add_segments(scope.ids, inventory);
  add_mounts(scope.directory, inventory);
  add_files(scope.directory, inventory);
  add_groups(scope.cgroup_prefix, inventory);
  return inventory;
}

std::string difference(const Inventory& before, const Inventory& after) {
  std::string text;
  for (const std::string& line : before)
    if (!after.contains(line)) text += "- " + line + "\n";
  for (const std::string& line : after)
    if (!before.contains(line)) text += "+ " + line + "\n";
  return text;
}

}  // namespace tests
