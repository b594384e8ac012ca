// Mount plan: what a command sees of the file system, as data. The jail carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/request.h"

namespace sandbox {

// One thing in the read-only root.
struct RootEntry {
  enum class Kind : std::uint8_t {
    as_host,    // a link or a read-only view, whichever the host has at `path`; absent: left out
    host,       // a read-only view of the host's path; absent: left out
    required,   // the same; absent: an error
    directory,  // an empty directory (mostly a mount point)
    file,       // a file with `text`
    link,       // a symbolic link to `text`
  };
  Kind kind = Kind::directory;
  std::string path;  // absolute, normalised
  std::string text;
  bool operator==(const RootEntry&) const = default;
};

// The whole root, parents before children: the host's toolchain directories, a few files of /etc
// written by us, mount points, and the operator's further paths.
std::vector<RootEntry> root_plan(const std::vector<std::string>& read_only_paths);

// Character devices of /dev: name and device number (Documentation/admin-guide/devices.txt, major
// 1).
struct DeviceNode {
  std::string_view name;
  unsigned major_number;
  unsigned minor_number;
};
const std::vector<DeviceNode>& device_nodes();

// What of a fresh /proc is hidden (files by /dev/null, directories by an empty one) or read-only.
// Names below /proc; those that the kernel lacks are skipped. Source: the masked and read-only
// paths of the OCI runtimes' default configuration.
const std::vector<std::string>& hidden_proc_entries();
const std::vector<std::string>& read_only_proc_entries();

// Where POSIX message queues are a file system (man 7 mq_overview).
inline constexpr std::string_view kMessageQueues = "/dev/mqueue";

// A memory file system that lives as long as one command.
struct PrivateMount {
  std::string target;
  os::Bytes size;
  std::int64_t inodes = 0;
  unsigned mode = 0755;
};
std::vector<PrivateMount> private_mounts(const RunRequest& request);

// The mount points that a command may write to: everything else has to be read-only.
std::vector<std::string> writable_targets(const RunRequest& request);

// Where a command starts.
std::string working_directory(const RunRequest& request);

// Checks a command's /proc/self/mountinfo (man 5 proc) before it starts: every mount is nosuid,
// all but /dev are nodev, and all but the writable ones and /proc are read-only. Empty: it holds;
// else the first mount that does not, and why.
std::string check_mounts(std::string_view mountinfo, const std::vector<std::string>& writable);

// True for an absolute path without empty, "." or ".." components, at most 4000 bytes.
bool is_normal_path(std::string_view path);
// The same for a relative one.
bool is_normal_relative_path(std::string_view path);

}  // namespace sandbox
