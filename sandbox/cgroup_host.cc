#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sandbox/cgroup.h"
#include "sandbox/cgroup_files.h"
#include "sandbox/os/files.h"

namespace sandbox {
namespace {

// Controllers of use to us. cpuacct and freezer only where there is no unified hierarchy, whose
// cpu.stat, cgroup.kill and cgroup.freeze cost one group instead of two.
constexpr std::array<std::string_view, 6> kWanted{"memory", "pids",    "cpu",
                                                  "cpuset", "devices", "blkio"};
constexpr std::array<std::string_view, 2> kWithoutUnified{"cpuacct", "freezer"};

struct MountLine {
  std::string root;
  std::string point;
  std::string type;
  std::string options;
};

// man 5 proc: id parent major:minor root point options [fields] - type source super-options.
std::optional<MountLine> parse_mount(const std::string& line) {
  const std::size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  MountLine mount;
  std::string skipped;
  std::istringstream before(line.substr(0, dash));
  before >> skipped >> skipped >> skipped >> mount.root >> mount.point;
  std::istringstream after(line.substr(dash + 3));
  after >> mount.type >> skipped >> mount.options;
  return mount;
}

// Our own group on v2 as the mount shows it, where systemd delegated it; else the root.
std::string delegated_base(const MountLine& mount, const std::string& own_groups) {
  std::istringstream lines(own_groups);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0::")) continue;
    std::string own = line.substr(3);
    if (mount.root != "/" && own.starts_with(mount.root)) own = own.substr(mount.root.size());
    if (own.empty() || own == "/" || own.contains("..")) return "/";
    const std::string directory = mount.point + own;
    std::array<char, 8> value{};
    for (const char* const name : {"trusted.delegate", "user.delegate"})
      if (::getxattr(directory.c_str(), name, value.data(), value.size()) > 0 && value[0] == '1')
        return own;
  }
  return "/";
}

std::string unified_controllers(const std::string& directory) {
  std::string controllers = "unified";
  const os::Result<std::string> there = os::read_file(directory + "/cgroup.controllers");
  for (const std::string_view wanted : {"memory", "pids", "cpu", "cpuset", "io"})
    if (there && has_word(*there, wanted)) controllers += "," + std::string(wanted);
  return controllers;
}

std::string v1_controllers(const std::string& options, bool unified) {
  std::string controllers;
  const auto add = [&](std::string_view wanted) {
    if (!has_word(options, wanted)) return;
    if (!controllers.empty()) controllers += ",";
    controllers += wanted;
  };
  for (const std::string_view wanted : kWanted) add(wanted);
  if (!unified)
    for (const std::string_view wanted : kWithoutUnified) add(wanted);
  return controllers;
}

}  // namespace

bool CgroupHost::Hierarchy::is_unified() const { return controllers.starts_with("unified"); }

bool CgroupHost::Hierarchy::has(const std::string& controller) const {
  return has_word(controllers, controller);
}

std::string CgroupHost::Hierarchy::directory(const std::string& path) const {
  return mount + (base == "/" ? "" : base) + "/" + path;
}

os::Result<CgroupHost> CgroupHost::detect() {
  const std::string mounts = TRY(os::read_file("/proc/self/mountinfo"));
  return parse(mounts, TRY(os::read_file("/proc/self/cgroup")));
}

CgroupHost CgroupHost::parse(const std::string& mountinfo, const std::string& own_groups) {
  std::vector<MountLine> mounts;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);)
    if (auto mount = parse_mount(line); mount && mount->type.starts_with("cgroup"))
      mounts.push_back(std::move(*mount));
  const bool unified =
      std::ranges::any_of(mounts, [](const MountLine& mount) { return mount.type == "cgroup2"; });
  CgroupHost host;
  std::set<std::string> seen;
  for (const MountLine& mount : mounts) {
    Hierarchy hierarchy;
    hierarchy.mount = mount.point;
    if (mount.type == "cgroup2") {
      hierarchy.base = delegated_base(mount, own_groups);
      hierarchy.controllers = unified_controllers(hierarchy.directory(""));
    } else {
      hierarchy.controllers = v1_controllers(mount.options, unified);
    }
    const std::string identity = mount.type == "cgroup2" ? "unified" : hierarchy.controllers;
    if (!hierarchy.controllers.empty() && seen.insert(identity).second)
      host.hierarchies_.push_back(std::move(hierarchy));
  }
  // A process joins in this order, so whoever is in any group is in the first: it is counted and
  // killed there.
  std::ranges::stable_sort(host.hierarchies_, std::greater{}, [](const Hierarchy& hierarchy) {
    return hierarchy.is_unified() ? 2 : hierarchy.has("freezer") ? 1 : 0;
  });
  return host;
}

CgroupLayout CgroupHost::layout() const {
  const auto unified = std::ranges::count_if(hierarchies_, &Hierarchy::is_unified);
  if (hierarchies_.empty()) return CgroupLayout::none;
  if (unified == 0) return CgroupLayout::v1;
  return hierarchies_.size() == 1 ? CgroupLayout::v2 : CgroupLayout::hybrid;
}

std::string CgroupHost::describe() const {
  std::string v1;
  std::string v2;
  for (const Hierarchy& hierarchy : hierarchies_) {
    std::string& words = hierarchy.is_unified() ? v2 : v1;
    if (!words.empty()) words += ",";
    words += hierarchy.controllers;
  }
  switch (layout()) {
    case CgroupLayout::v2:
      return "v2: " + v2;
    case CgroupLayout::v1:
      return "v1: " + v1;
    case CgroupLayout::hybrid:
      return fmt::format("hybrid: {} on v1, {} on v2", v1, v2);
    case CgroupLayout::none:
      break;
  }
  return "none is mounted";
}

os::Result<std::vector<std::string>> CgroupHost::list(const std::string& prefix) const {
  std::vector<std::string> found;
  for (const Hierarchy& hierarchy : hierarchies_) {
    const std::string base = hierarchy.directory("");
    for (const std::string& name : TRY(os::list_directory(base)))
      if (name.starts_with(prefix))
        std::ranges::copy(group_tree(base + name), std::back_inserter(found));
  }
  return found;
}

os::Result<int> CgroupHost::sweep(const std::string& prefix) const {
  if (prefix.empty()) return os::fail(os::Code::invalid, "a sweep needs a prefix");
  std::set<std::string> names;
  for (const Hierarchy& hierarchy : hierarchies_)
    for (const std::string& name : TRY(os::list_directory(hierarchy.directory(""))))
      if (name.starts_with(prefix) &&
          has_group_file(-1, hierarchy.directory(name + "/cgroup.procs")))
        names.insert(name);
  for (const std::string& name : names) {
    os::Result<Cgroup> group = Cgroup::open(*this, name);
    if (!group && group.error().code == os::Code::not_found) continue;
    if (!group) return std::unexpected(group.error());
    TRY(group->remove());
  }
  return static_cast<int>(names.size());
}

}  // namespace sandbox
