// Host: what this machine lets a sandbox enforce, id ranges, and cgroup roots. Needs root.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/os/fd.h"
#include "sandbox/request.h"

namespace sandbox {

// One thing a sandbox needs or uses.
struct Feature {
  std::string name;      // root, user_namespace, overlayfs, seccomp, cgroup_memory, cgroup_pids,
                         // cgroup_cpu, device_denial, idmap, cgroup_unified, landlock, psi …
  bool required = true;  // missing: no sandbox, unless allowed by name in sandbox.allow_gaps
  bool present = false;
  std::string detail;  // what was found, or why it is missing
  std::string remedy;  // the next step for the operator when missing
};

// Tries each feature for real (makes and removes a namespace, a cgroup, a mount in a child).
std::vector<Feature> probe_host();

// Names of required features that are missing and not in `allowed`.
std::vector<std::string> missing_features(const std::vector<Feature>& features,
                                          const std::vector<std::string>& allowed);

// SHA-256 over what makes the environment `host`: dpkg's status file, the operator's extra
// read-only paths and the kernel release.
os::Result<std::string> environment_digest(const std::vector<std::string>& read_only_paths);

// A whole slot of ids, held by flock in /run/proofhouse/ids/<n>; released on destruction. The same
// for every program on the machine.
class IdSlot {
 public:
  // First free slot of `first + 65536*n`, n < slots, that meets no range of /etc/subuid and
  // /etc/subgid and no entry of passwd and group; exhausted when all are taken.
  static os::Result<IdSlot> take(std::uint32_t first = 939'524'096, int slots = 128);
  // Takes slot `index`; conflict when it is held.
  static os::Result<IdSlot> take_index(int index, std::uint32_t first = 939'524'096);

  int index() const { return index_; }
  // Maps of sandboxes cover 65,000 ids; the rest of the slot is for processes outside of them.
  IdRange range() const { return IdRange{start_, 65'000}; }
  // A uid (and gid) of this slot that no sandbox maps: for the attempt process.
  std::uint32_t outside_uid() const { return start_ + 65'500; }
  // The descriptor that holds the lock (a child that inherits it holds the slot as well).
  int lock_fd() const { return lock_.get(); }

 private:
  os::Fd lock_;
  int index_ = 0;
  std::uint32_t start_ = 0;
};

// Whole CPUs that this process may use (sched_getaffinity), in order.
std::vector<int> available_cpus();
// MemTotal of /proc/meminfo.
os::Result<os::Bytes> total_memory();

}  // namespace sandbox
