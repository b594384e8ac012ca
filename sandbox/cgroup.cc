#include "sandbox/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/ablation.h"
#include "sandbox/cgroup_files.h"

namespace sandbox {
namespace {

using Clock = std::chrono::steady_clock;

// What a v2 group is to give its children.
constexpr std::array kControllers{"memory", "pids", "cpu", "cpuset", "io"};

bool is_valid_path(const std::string& path) {
  if (path.empty() || path.starts_with('/') || path.ends_with('/')) return false;
  const std::string walled = "/" + path + "/";
  return !walled.contains("//") && !walled.contains("/../") && !walled.contains("/./");
}

// v2: a group gives its children only the controllers that it names. Processes in a group that is
// not the root stand against that (man 7 cgroups, "no internal processes"): they go to a leaf.
os::Result<void> enable_controllers(const std::string& directory, const std::string& controllers) {
  const os::Fd group = TRY(open_group(directory));
  const std::string there = TRY(read_group_file(group.get(), "cgroup.controllers"));
  const std::string enabled = TRY(read_group_file(group.get(), "cgroup.subtree_control"));
  std::string wanted;
  for (const std::string_view name : kControllers)
    if (has_word(controllers, name) && has_word(there, name) && !has_word(enabled, name))
      wanted += (wanted.empty() ? "+" : " +") + std::string(name);
  if (wanted.empty()) return {};
  os::Result<void> written = write_group_file(group.get(), "cgroup.subtree_control", wanted);
  if (written || written.error().sys_errno != EBUSY) return written;
  const std::string leaf = directory + "/supervisor";
  if (::mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST) return os::fail_errno("make " + leaf);
  const os::Fd target = TRY(open_group(leaf));
  std::string own = TRY(read_group_file(group.get(), "cgroup.procs"));
  for (auto line : std::views::split(own, '\n'))
    if (!line.empty())
      static_cast<void>(
          write_group_file(target.get(), "cgroup.procs", std::string_view(line.begin(), line.end()))
              .has_value());
  return write_group_file(group.get(), "cgroup.subtree_control", wanted);
}

// Makes a group whose parent is there and gives its children what is wanted: then nothing above
// needs a look. False: nothing was made.
bool make_at_once(const CgroupHost::Hierarchy& hierarchy, const std::string& directory) {
  if (::mkdir(directory.c_str(), 0755) != 0) return false;
  if (!hierarchy.is_unified() || hierarchy.controllers == "unified") return true;
  std::string there;
  if (const os::Result<os::Fd> group = open_group(directory))
    there = read_group_file(group->get(), "cgroup.controllers").value_or(std::string());
  const auto lacks = [&](const char* name) {
    return hierarchy.has(name) && !has_word(there, name);
  };
  if (std::ranges::none_of(kControllers, lacks)) return true;
  ::rmdir(directory.c_str());
  return false;
}

// v1: a new cpuset is empty, and nothing can join it (ENOSPC).
os::Result<void> inherit_cpuset(const CgroupHost::Hierarchy& hierarchy,
                                const std::string& directory) {
  if (hierarchy.is_unified() || !hierarchy.has("cpuset")) return {};
  const os::Fd group = TRY(open_group(directory));
  const os::Fd parent = TRY(open_group(directory + "/.."));
  for (const char* const name : {"cpuset.cpus", "cpuset.mems"}) {
    if (TRY(read_group_file(group.get(), name)).find_first_not_of(" \n") != std::string::npos)
      continue;
    TRY(write_group_file(group.get(), name, TRY(read_group_file(parent.get(), name))));
  }
  return {};
}

// Makes the groups above `path`; not_found when one of them vanished meanwhile. Adds those that it
// made to `made`.
os::Result<void> make_parents(const CgroupHost::Hierarchy& hierarchy, const std::string& path,
                              std::vector<std::string>& made) {
  for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string directory = hierarchy.directory(path.substr(0, at));
    if (::mkdir(directory.c_str(), 0755) == 0)
      made.push_back(directory);
    else if (errno != EEXIST)
      return os::fail_errno("make group " + directory);
    if (hierarchy.is_unified())
      TRY_CONTEXT(enable_controllers(directory, hierarchy.controllers), directory);
    else
      TRY_CONTEXT(inherit_cpuset(hierarchy, directory), directory);
  }
  return {};
}

// Removes a directory of a group whose processes are dead, and those below it.
os::Result<void> remove_group(const std::string& path, Clock::time_point deadline) {
  const std::vector<std::string> tree = group_tree(path);
  for (const std::string& group : tree | std::views::reverse) {
    // The last exiting task lets go of its group a moment after it is gone from cgroup.procs.
    while (::rmdir(group.c_str()) != 0 && errno != ENOENT) {
      if (errno != EBUSY || Clock::now() > deadline) return os::fail_errno("remove group " + group);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return {};
}

bool is_populated(int directory) {
  return group_counter(directory, "cgroup.events", "populated") != 0;
}

// SIGKILL to all of a group, held still meanwhile (where it has a freezer) so that none forks away.
void kill_frozen(int directory, const std::string& path) {
  const bool can_freeze = has_group_file(directory, "freezer.state");
  if (can_freeze) {
    static_cast<void>(write_group_file(directory, "freezer.state", "FROZEN").has_value());
    // Freezing is asynchronous; a task that does not freeze soon is killed on the next round.
    for (int round = 0; round < 50; ++round) {
      const os::Result<std::string> state = read_group_file(directory, "freezer.state");
      if (!state || state->starts_with("FROZEN")) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  for (const pid_t pid : group_processes(path)) ::kill(pid, SIGKILL);
  // A frozen v1 task dies only when it is thawed.
  if (can_freeze)
    static_cast<void>(write_group_file(directory, "freezer.state", "THAWED").has_value());
}

}  // namespace

os::Result<void> Cgroup::take(Group group) {
  // From here on the destructor removes it.
  const std::string directory = group.full_path;
  groups_.push_back(std::move(group));
  TRY_CONTEXT(inherit_cpuset(groups_.back().hierarchy, directory), directory);
  groups_.back().directory = TRY(open_group(directory));
  return {};
}

os::Result<void> Cgroup::make(const CgroupHost::Hierarchy& hierarchy) {
  Group group{hierarchy, {}, hierarchy.directory(path_), {}};
  if (make_at_once(hierarchy, group.full_path)) return take(std::move(group));
  if (hierarchy.is_unified())
    TRY(enable_controllers(hierarchy.directory(""), hierarchy.controllers));
  // Another program may remove a parent that is empty just then: the next round makes it again.
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    os::Result<void> parents = make_parents(hierarchy, path_, group.made);
    if (!parents && parents.error().code != os::Code::not_found) return parents;
    if (!parents) continue;
    if (::mkdir(group.full_path.c_str(), 0755) == 0) return take(std::move(group));
    if (errno != ENOENT) return os::fail_errno("make group " + group.full_path);
  }
  return os::fail(os::Code::unavailable, "group " + path_ + " is removed while it is made");
}

os::Result<Cgroup> Cgroup::create(const CgroupHost& host, const std::string& path) {
  if (!is_valid_path(path)) return os::fail(os::Code::invalid, "'" + path + "' is no group path");
  if (host.layout() == CgroupLayout::none)
    return os::fail(os::Code::unavailable, "no cgroup hierarchy is mounted");
  Cgroup made;
  made.path_ = path;
  for (const CgroupHost::Hierarchy& hierarchy : host.hierarchies()) TRY(made.make(hierarchy));
  return made;
}

os::Result<Cgroup> Cgroup::open(const CgroupHost& host, const std::string& path) {
  if (!is_valid_path(path)) return os::fail(os::Code::invalid, "'" + path + "' is no group path");
  Cgroup found;
  found.path_ = path;
  for (const CgroupHost::Hierarchy& hierarchy : host.hierarchies()) {
    os::Result<os::Fd> directory = open_group(hierarchy.directory(path));
    if (!directory && directory.error().code == os::Code::not_found) continue;
    if (!directory) return std::unexpected(directory.error());
    found.groups_.push_back({hierarchy, std::move(*directory), hierarchy.directory(path), {}});
  }
  if (found.groups_.empty()) return os::fail(os::Code::not_found, "there is no group " + path);
  return found;
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : path_(std::move(other.path_)), groups_(std::exchange(other.groups_, {})) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(groups_, other.groups_);
  return *this;
}

Cgroup::~Cgroup() { static_cast<void>(remove().has_value()); }

const Cgroup::Group* Cgroup::find(const std::string& controller) const {
  for (const Group& group : groups_)
    if (group.hierarchy.has(controller)) return &group;
  return nullptr;
}

os::Result<std::vector<os::Fd>> Cgroup::join_descriptors() const {
  std::vector<os::Fd> descriptors;
  for (const Group& group : groups_)
    descriptors.push_back(TRY(os::open_file(group.full_path + "/cgroup.procs", O_WRONLY)));
  return descriptors;
}

os::Result<std::int64_t> Cgroup::population() const {
  if (groups_.empty()) return 0;
  const Group& group = groups_.front();
  if (group.hierarchy.is_unified() && !is_populated(group.directory.get())) return 0;
  const std::vector<pid_t> all = group_processes(group.full_path);
  // A process without a number here (of another pid namespace), or one that is just ending, is not
  // listed, but it holds the group.
  const auto least = group.hierarchy.is_unified() ? std::size_t{1} : std::size_t{0};
  return static_cast<std::int64_t>(std::max(std::set(all.begin(), all.end()).size(), least));
}

os::Result<void> Cgroup::kill_round() const {
  const Group& group = groups_.front();
  if (group.hierarchy.is_unified() && has_group_file(group.directory.get(), "cgroup.kill"))
    return write_group_file(group.directory.get(), "cgroup.kill", "1");
  kill_frozen(group.directory.get(), group.full_path);
  return {};
}

os::Result<std::int64_t> Cgroup::kill_all(std::chrono::milliseconds limit) {
  const Clock::time_point deadline = Clock::now() + limit;
  if (groups_.empty() || is_left_out(Layer::kill_group)) return 0;
  std::int64_t killed = TRY(population());
  auto pause = std::chrono::microseconds(200);
  for (std::int64_t left = killed; left > 0;) {
    TRY(kill_round());
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds(10));
    left = TRY(population());
    killed = std::max(killed, left);
    if (left > 0 && Clock::now() > deadline)
      return os::fail(os::Code::timeout,
                      std::to_string(left) + " processes of group " + path_ + " do not end");
  }
  return killed;
}

os::Result<void> Cgroup::remove() {
  if (groups_.empty()) return {};
  TRY(kill_all());
  const Clock::time_point deadline = Clock::now() + std::chrono::seconds(2);
  const std::string top = path_.substr(0, path_.find('/'));
  for (Group& group : groups_) {
    group.directory.close();
    TRY(remove_group(group.full_path, deadline));
    for (const std::string& parent : group.made | std::views::reverse) ::rmdir(parent.c_str());
    // Who made the top is gone perhaps; whoever is last removes it.
    if (top != path_) ::rmdir(group.hierarchy.directory(top).c_str());
  }
  groups_.clear();
  return {};
}

}  // namespace sandbox
