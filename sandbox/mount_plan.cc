#include "sandbox/mount_plan.h"

#include <algorithm>
#include <array>

namespace sandbox {
namespace {

using Kind = RootEntry::Kind;

constexpr std::string_view kPasswd =
    "root:x:0:0:root:/:/usr/sbin/nologin\n"
    "build:x:1000:1000:build:/home/build:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n";
constexpr std::string_view kGroup = "root:x:0:\nbuild:x:1000:\nnogroup:x:65534:\n";
constexpr std::string_view kHosts = "127.0.0.1 localhost proofhouse\n::1 localhost proofhouse\n";
constexpr std::string_view kNames =
    "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\n"
    "protocols: files\nnetworks: files\n";

// Characters that mountinfo writes as \ooo stay as they are: our own targets have none.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty()) {
    const std::size_t space = line.find(' ');
    fields.push_back(line.substr(0, space));
    if (space == std::string_view::npos) break;
    line.remove_prefix(space + 1);
  }
  return fields;
}

bool has_option(std::string_view options, std::string_view wanted) {
  while (!options.empty()) {
    const std::size_t comma = options.find(',');
    if (options.substr(0, comma) == wanted) return true;
    if (comma == std::string_view::npos) break;
    options.remove_prefix(comma + 1);
  }
  return false;
}

// Below /proc only three things are mounted: the null device, the empty directory, and an entry on
// itself. `root` is the path within the mounted file system.
bool hides_or_shows_itself(std::string_view root, std::string_view target) {
  return root == "/null" || root == "/var/empty" ||
         root == target.substr(std::string_view("/proc").size());
}

// One line of mountinfo: the fourth field is the root of the mount within its file system, the
// fifth the mount point, the sixth the mount's own options.
std::string check_mount(std::string_view line, const std::vector<std::string>& writable) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.size() < 6) return "unreadable mountinfo";
  const std::string target(fields[4]);
  const std::string_view options = fields[5];
  if (!has_option(options, "nosuid")) return target + " is not nosuid";
  const bool is_dev = target == "/dev" || target.starts_with("/proc/");
  if (!is_dev && !has_option(options, "nodev")) return target + " is not nodev";
  if (target.starts_with("/proc/") && !hides_or_shows_itself(fields[3], target))
    return target + " shows something else";
  if (target == "/proc" || std::ranges::find(writable, target) != writable.end()) return {};
  return has_option(options, "ro") ? std::string() : target + " is not read-only";
}

bool is_normal(std::string_view path) {
  while (true) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." || part.size() > 255) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace

std::vector<RootEntry> root_plan(const std::vector<std::string>& read_only_paths) {
  std::vector<RootEntry> plan;
  const auto add = [&plan](Kind kind, std::string path, std::string_view text = {}) {
    plan.push_back({kind, std::move(path), std::string(text)});
  };
  for (const char* path :
       {"/dev", "/driver", "/etc", "/home", "/home/build", "/in", "/needs", "/out", "/proc",
        "/proofhouse", "/tmp", "/usr", "/var", "/var/empty", "/workspace", "/etc/alternatives",
        "/etc/ssl", "/etc/ssl/certs", "/etc/ld.so.conf.d"})
    add(Kind::directory, path);
  add(Kind::required, "/usr");
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib64"}) add(Kind::as_host, path);
  for (const char* path : {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf",
                           "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/ca-certificates.conf"})
    add(Kind::host, path);
  add(Kind::file, "/etc/passwd", kPasswd);
  add(Kind::file, "/etc/group", kGroup);
  add(Kind::file, "/etc/hosts", kHosts);
  add(Kind::file, "/etc/nsswitch.conf", kNames);
  add(Kind::file, "/etc/hostname", "proofhouse\n");
  add(Kind::link, "/etc/localtime", "/usr/share/zoneinfo/UTC");
  add(Kind::link, "/var/tmp", "../tmp");
  for (const std::string& path : read_only_paths) add(Kind::required, path);
  return plan;
}

const std::vector<DeviceNode>& device_nodes() {
  static const std::vector<DeviceNode> nodes{
      {"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}};
  return nodes;
}

const std::vector<std::string>& hidden_proc_entries() {
  static const std::vector<std::string> entries{
      "acpi",        "asound",    "bus",           "cmdline",  "config.gz",     "diskstats",
      "driver",      "fs",        "interrupts",    "kallsyms", "kcore",         "key-users",
      "keys",        "kmsg",      "latency_stats", "locks",    "modules",       "partitions",
      "sched_debug", "schedstat", "scsi",          "softirqs", "sysrq-trigger", "timer_list",
      "timer_stats", "tty"};
  return entries;
}

const std::vector<std::string>& read_only_proc_entries() {
  static const std::vector<std::string> entries{"irq", "sys"};
  return entries;
}

std::vector<PrivateMount> private_mounts(const RunRequest& request) {
  constexpr os::Bytes kStrict{1U << 20U};
  constexpr std::int64_t kStrictFiles = 256;
  const bool strict = request.profile == Profile::strict;
  const os::Bytes disk = strict ? kStrict : request.limits.disk;
  const os::Bytes shm = strict ? kStrict : request.limits.shm;
  const std::int64_t files = strict ? kStrictFiles : request.limits.inodes;
  return {{"/tmp", disk, files, 01777},
          {"/dev/shm", shm, files, 01777},
          {"/home/build", disk, files, 0755}};
}

std::vector<std::string> writable_targets(const RunRequest& request) {
  std::vector<std::string> targets{"/tmp", "/dev/shm", "/home/build", std::string(kMessageQueues)};
  if (request.profile == Profile::step) targets.emplace_back("/workspace");
  if (request.out.count > 0) targets.emplace_back("/out");
  return targets;
}

std::string working_directory(const RunRequest& request) {
  return request.profile == Profile::step ? "/workspace" : "/tmp";
}

std::string check_mounts(std::string_view mountinfo, const std::vector<std::string>& writable) {
  std::vector<std::string> missing = writable;
  // Sysctls are writable unless they are a mount of their own.
  missing.emplace_back("/proc/sys");
  while (!mountinfo.empty()) {
    const std::size_t end = mountinfo.find('\n');
    const std::string_view line = mountinfo.substr(0, end);
    if (std::string wrong = check_mount(line, writable); !wrong.empty()) return wrong;
    std::erase(missing, fields_of(line)[4]);
    if (end == std::string_view::npos) break;
    mountinfo.remove_prefix(end + 1);
  }
  return missing.empty() ? std::string() : missing.front() + " is not mounted";
}

bool is_normal_path(std::string_view path) {
  return path.size() > 1 && path.size() <= 4000 && path.front() == '/' &&
         path.find('\0') == std::string_view::npos && is_normal(path.substr(1));
}

bool is_normal_relative_path(std::string_view path) {
  return !path.empty() && path.size() <= 4000 && path.find('\0') == std::string_view::npos &&
         is_normal(path);
}

}  // namespace sandbox
