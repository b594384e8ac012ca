// Stage: the jail's own root. When it has been entered the jail's mount namespace holds what it was
// given and nothing else of the host, so that no request can reach further.
//
//   /attempt /trees /layers /repository /directory /programs /grants   what the descriptors showed
//   /driver/<n>    files of the GPU driver (see Bounds::driver_files)
//   /host/<n>      what the root of commands shows of the host (see root_plan)
//   /root/<d>      the prepared root of commands of one domain, made when it is first needed
//   /w /o /m       workspaces, outputs, passing mounts
//   /proc and the cgroup hierarchies at their own places
#pragma once

#include <string>
#include <vector>

#include "sandbox/cgroup.h"
#include "sandbox/jail/namespaces.h"
#include "sandbox/mount_plan.h"
#include "sandbox/os/fd.h"

namespace sandbox::jail {

// The directories that a jail was given, opened beneath its own root; closed: not given.
struct Grants {
  os::Fd attempt;
  os::Fd trees;
  os::Fd layers;
  os::Fd repository;
  os::Fd directory;
  os::Fd programs;
  os::Fd grants;
};

// Something of the host that the root of commands shows.
struct HostEntry {
  RootEntry plan;
  std::string link;  // target, where the host has a symbolic link
  bool is_directory = false;
  int number = -1;  // /host/<number>, -1: nothing to mount
};

class Stage {
 public:
  // Leaves the host: takes the descriptors of request.h, unshares the mount namespace, builds the
  // new root and detaches the old one. Called once, first of all.
  static os::Result<Stage> enter(const Bounds& bounds, const CgroupHost& host);

  const Grants& grants() const { return grants_; }
  // The root for commands of a domain: "/root/<d>", complete but for what each command gets anew.
  os::Result<std::string> root(Domain domain, UserNamespaces& spaces);

 private:
  Stage() = default;
  os::Result<void> build_root(const std::string& root, Domain domain, UserNamespaces& spaces);

  Grants grants_;
  std::vector<HostEntry> host_;
  std::vector<bool> roots_ = std::vector<bool>(4, false);
};

// A file system for /dev at `dev`: the five memory devices, the usual links and `gpus`, owned by
// `owner`, read-only.
os::Result<void> make_devices(const std::string& dev, std::uint32_t owner,
                              const std::vector<GpuNode>& gpus = {});

// Makes the missing directories of `path` (absolute) below `root`, mode 0755.
os::Result<void> make_mount_point(const std::string& root, const std::string& path,
                                  bool is_directory);

}  // namespace sandbox::jail
