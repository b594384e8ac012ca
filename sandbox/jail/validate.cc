#include "sandbox/jail/validate.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "sandbox/mount_plan.h"
#include "sandbox/os/ids.h"

namespace sandbox::jail {
namespace {

// The smallest range that holds the ids used inside; 65534 (nobody) may stay unmapped.
constexpr std::uint32_t kFewestIds = 2000;
// One argument may not exceed 128 KiB in Linux (MAX_ARG_STRLEN); the packet bounds the whole.
constexpr std::size_t kMostArguments = 4096;
constexpr std::size_t kMostItems = 1024;

os::Result<void> require(bool holds, std::string_view what) {
  if (!holds) return os::fail(os::Code::invalid, std::string(what));
  return {};
}

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length && std::ranges::all_of(text, [](char digit) {
           return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
         });
}

bool is_text(std::string_view text) { return text.find('\0') == std::string_view::npos; }

bool is_within(std::int64_t value, std::int64_t least, std::int64_t most) {
  return value >= least && value <= most;
}

os::Result<void> validate_limits(const Limits& limits, const Bounds& bounds) {
  constexpr std::int64_t kDay = 86'400'000;
  TRY(require(is_within(limits.cpus, 1, static_cast<std::int64_t>(bounds.cpus.size())),
              "limits.cpus: 1 to the number of CPUs of the lease"));
  TRY(require(limits.memory.count >= (1U << 20U) && limits.memory <= bounds.memory,
              "limits.memory: 1 MiB to the memory of the lease"));
  TRY(require(is_within(limits.pids, 1, 32'768), "limits.pids: 1 to 32768"));
  TRY(require(limits.disk.count >= 4096 && limits.disk.count <= (1ULL << 40U),
              "limits.disk: 4 KiB to 1 TiB"));
  TRY(require(is_within(limits.inodes, 1, 100'000'000), "limits.inodes: 1 to 100000000"));
  TRY(require(limits.shm.count >= 4096 && limits.shm.count <= (1ULL << 40U),
              "limits.shm: 4 KiB to 1 TiB"));
  TRY(require(is_within(limits.files, 8, 1'000'000), "limits.files: 8 to 1000000"));
  TRY(require(is_within(limits.wall.count(), 1, 7 * kDay), "limits.wall: 1 ms to 7 days"));
  TRY(require(is_within(limits.idle.count(), 0, 7 * kDay), "limits.idle: 0 to 7 days"));
  TRY(require(is_within(limits.cpu_time.count(), 0, 1000 * kDay),
              "limits.cpu_time: 0 to 1000 days"));
  TRY(require(limits.keep.count >= 2 && limits.keep.count <= (256U << 20U),
              "limits.keep: 2 bytes to 256 MiB"));
  return require(limits.output.count >= 1 && limits.output.count <= (1ULL << 40U),
                 "limits.output: 1 byte to 1 TiB");
}

// Places that a sandbox fills by itself, or that lie behind a link of the host.
bool is_taken(std::string_view path) {
  constexpr std::array<std::string_view, 16> kTaken{
      "/bin", "/dev",  "/driver",     "/home", "/in",  "/lib", "/lib64",   "/needs",
      "/out", "/proc", "/proofhouse", "/sbin", "/tmp", "/usr", "/var/tmp", "/workspace"};
  return std::ranges::any_of(kTaken, [path](std::string_view taken) {
    return path == taken || (path.starts_with(taken) && path[taken.size()] == '/');
  });
}

os::Result<void> validate_mount(const Mount& mount) {
  TRY(require(is_normal_path(mount.target) &&
                  (mount.target.starts_with("/needs/") || mount.target.starts_with("/in/")),
              "mounts.target: a path below /needs/ or /in/"));
  if (mount.source == MountSource::repository) return {};
  TRY(require(is_normal_relative_path(mount.name), "mounts.name: a relative path"));
  if (mount.source == MountSource::input) return {};
  const std::size_t slash = mount.name.find('/');
  return require(slash != std::string::npos && os::is_plain_name(mount.name.substr(0, slash)) &&
                     os::is_plain_name(mount.name.substr(slash + 1)),
                 "mounts.name: \"<run>/<output>\"");
}

// No target twice, none inside of another.
os::Result<void> validate_mounts(const std::vector<Mount>& mounts) {
  TRY(require(mounts.size() <= kMostItems, "mounts: too many"));
  for (const Mount& mount : mounts) TRY(validate_mount(mount));
  for (const Mount& one : mounts) {
    const auto meets = [&one](const Mount& other) {
      return &one != &other &&
             (one.target == other.target || one.target.starts_with(other.target + "/"));
    };
    TRY(require(std::ranges::none_of(mounts, meets), "mounts.target: one is inside of another"));
  }
  return {};
}

os::Result<void> validate_collect(const std::vector<Collect>& collect) {
  TRY(require(collect.size() <= kMostItems, "collect: too many"));
  std::set<std::string> names;
  for (const Collect& one : collect) {
    TRY(require(os::is_plain_name(one.name), "collect.name: a plain name"));
    TRY(require(names.insert(one.name).second, "collect.name: twice the same"));
    TRY(require(is_normal_relative_path(one.path) || (one.path == "." && one.is_directory),
                "collect.path: a relative path, or '.'"));
    TRY(require(one.limit.count <= (1ULL << 40U), "collect.limit: at most 1 TiB"));
    TRY(require(is_within(one.files, 0, 10'000'000), "collect.files: 0 to 10000000"));
  }
  return {};
}

os::Result<void> validate_command(const RunRequest& request) {
  TRY(require(!request.command.empty() && request.command.size() <= kMostArguments,
              "command: 1 to 4096 arguments"));
  TRY(require(std::ranges::all_of(request.command, is_text), "command: holds a NUL byte"));
  TRY(require(request.command[0].starts_with('/'), "command: its first word is an absolute path"));
  TRY(require(request.environment.size() <= kMostArguments, "environment: too many"));
  for (const std::string& variable : request.environment)
    TRY(require(is_text(variable) && variable.find('=') != std::string::npos && variable[0] != '=',
                "environment: NAME=value"));
  return {};
}

}  // namespace

os::Result<void> validate(const Bounds& bounds) {
  TRY(require(os::is_plain_name(bounds.attempt), "bounds.attempt: a plain name"));
  const std::size_t slash = bounds.cgroup.find('/');
  TRY(require(slash != std::string::npos && os::is_plain_name(bounds.cgroup.substr(0, slash)) &&
                  os::is_plain_name(bounds.cgroup.substr(slash + 1)),
              "bounds.cgroup: \"<prefix>/<attempt>\""));
  TRY(require(bounds.ids.size() == 4, "bounds.ids: one range for each domain"));
  for (const IdRange& range : bounds.ids) {
    const std::uint64_t end = std::uint64_t{range.start} + range.count;
    TRY(require(range.start > 0 && range.count >= kFewestIds && end <= 0xffff'fff0U,
                "bounds.ids: at least 2000 ids, without 0"));
    for (const IdRange& other : bounds.ids)
      TRY(require(&range == &other || range.start >= std::uint64_t{other.start} + other.count ||
                      other.start >= end,
                  "bounds.ids: ranges overlap"));
  }
  TRY(require(!bounds.cpus.empty(), "bounds.cpus: at least one"));
  for (const std::string& path : bounds.read_only_paths)
    TRY(require(is_normal_path(path) && !is_taken(path),
                "bounds.read_only_paths: absolute paths, none where a sandbox has its own"));
  TRY(require(bounds.driver_files.size() <= kMostItems, "bounds.driver_files: too many"));
  std::set<std::string> names;
  for (const DriverFile& file : bounds.driver_files)
    TRY(require(is_normal_path(file.path) && is_normal_relative_path(file.name) &&
                    file.name.find('/') == std::string::npos && names.insert(file.name).second,
                "bounds.driver_files: an absolute path and a name of its own"));
  return {};
}

os::Result<void> validate(const WorkspaceRequest& request, const Bounds& bounds) {
  TRY(require(os::is_plain_name(request.name), "name: a plain name"));
  TRY(require(request.tree.empty() || is_hex(request.tree, 40), "tree: 40 hex digits"));
  TRY(require(request.layer.empty() || is_hex(request.layer, 64), "layer: 64 hex digits"));
  TRY(require(!request.directory || request.tree.empty(), "directory: not with a tree"));
  TRY(require(request.disk.count >= 4096 && request.disk <= bounds.memory,
              "disk: 4 KiB to the memory of the lease"));
  return require(is_within(request.inodes, 1, 100'000'000), "inodes: 1 to 100000000");
}

namespace {

os::Result<void> validate_beside(const RunRequest& request, const Bounds& bounds) {
  TRY(require(request.beside.size() <= 1, "beside: at most one"));
  for (const RunRequest& other : request.beside) {
    TRY(require(other.beside.empty() && other.mode != WorkspaceMode::none &&
                    request.mode != WorkspaceMode::none && other.workspace != request.workspace,
                "beside: two runs in workspaces of their own"));
    TRY(require(other.id != request.id, "beside: an id of its own"));
    TRY_CONTEXT(validate(other, bounds), "beside");
    TRY(require(other.limits.memory.count + request.limits.memory.count <= bounds.memory.count,
                "beside: more memory together than the lease has"));
  }
  return {};
}

}  // namespace

os::Result<void> validate(const RunRequest& request, const Bounds& bounds) {
  TRY(require(os::is_plain_name(request.id), "id: a plain name"));
  TRY(require((request.mode == WorkspaceMode::none) == request.workspace.empty(),
              "workspace: its name, exactly if the mode is not none"));
  TRY(require(request.workspace.empty() || os::is_plain_name(request.workspace),
              "workspace: a plain name"));
  TRY(require(request.profile == Profile::step || request.mode == WorkspaceMode::none,
              "mode: a strict run has no workspace"));
  TRY(validate_command(request));
  TRY(validate_limits(request.limits, bounds));
  TRY(validate_mounts(request.mounts));
  TRY(validate_collect(request.collect));
  TRY(require(request.clear.size() <= kMostItems, "clear: too many"));
  TRY(require(!request.gpus || request.profile == Profile::step, "gpus: a strict run has none"));
  TRY(require(std::ranges::all_of(request.clear, is_normal_relative_path),
              "clear: relative paths"));
  TRY(require(request.out <= bounds.memory, "out: at most the memory of the lease"));
  return validate_beside(request, bounds);
}

os::Result<void> validate(const PublishRequest& request) {
  TRY(require(os::is_plain_name(request.run), "run: a plain name"));
  TRY(require(is_normal_relative_path(request.path), "path: a relative path"));
  return require(is_hex(request.tree, 40), "tree: 40 hex digits");
}

os::Result<void> validate(const KeepLayerRequest& request) {
  TRY(require(os::is_plain_name(request.workspace), "workspace: a plain name"));
  return require(is_hex(request.key, 64), "key: 64 hex digits");
}

}  // namespace sandbox::jail
