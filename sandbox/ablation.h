// Ablation: the layers of the sandbox, and whether one is left out. Only the tests' own program
// `jail_ablated` (built with PROOFHOUSE_ABLATION, never installed) can leave any out, to prove that
// each is needed; in `jail` the answer is a constant, and the code for it is not there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace sandbox {

// What stands between a command and the rest of the machine. One or a few of them guard each row of
// the attack suite (tests/attack).
enum class Layer : std::uint8_t {
  user_namespace,     // an id range of its own; left out: the host's user 0
  bounding_set,       // no capability can be gained
  capabilities,       // none is held
  securebits,         // user 0 is nobody special, locked
  groups,             // no supplementary group
  no_new_privs,       // exec gives nothing
  seccomp_list,       // calls that are not on the list
  seccomp_arguments,  // arguments of calls that are
  landlock,           // a second opinion on files, sockets and signals
  keyring,            // a session keyring of its own
  rlimits,            // what no group counts
  close_descriptors,  // 0 to 2 only
  session,            // a session without a terminal
  supervisor_rights,  // process 1 has no right of its own
  supervisor_filter,  // process 1 may make a dozen calls
  supervisor_user,    // process 1 has a user of its own
  undumpable,         // process 1 cannot be looked into
  death_signal,       // the sandbox dies with its jail
  pid_namespace,      // only its own processes
  net_namespace,      // only its own loopback
  ipc_namespace,      // only its own queues and segments
  uts_namespace,      // a host name of its own
  cgroup_namespace,   // the path of its group is hidden
  detached_root,      // what lies behind the root is gone
  read_only_root,     // the root itself
  read_only_views,    // what is shown of the host
  nosuid_views,       // the same, without set-id
  nodev_views,        // the same, without devices
  fresh_proc,         // proc of its own pid namespace
  hidden_proc,        // entries of proc that tell of the host
  read_only_proc,     // sysctls
  private_memory,     // /tmp, /dev/shm and HOME are new
  verified_mounts,    // mounts read back before the start
  memory_limit,       // bytes of memory
  pids_limit,         // processes and threads
  cpu_quota,          // CPU time a period
  cpuset,             // which CPUs
  device_denial,      // devices that may be opened
  disk_limit,         // bytes of files
  inode_limit,        // number of files
  wall_deadline,      // time from start to end
  idle_deadline,      // time without a sign of life
  output_limit,       // bytes printed
  kill_group,         // what is left of a command is killed
  collect_beneath,    // outputs are opened below the workspace, links not followed
};

inline constexpr std::array kLayers{
    std::pair{Layer::user_namespace, std::string_view("user_namespace")},
    std::pair{Layer::bounding_set, std::string_view("bounding_set")},
    std::pair{Layer::capabilities, std::string_view("capabilities")},
    std::pair{Layer::securebits, std::string_view("securebits")},
    std::pair{Layer::groups, std::string_view("groups")},
    std::pair{Layer::no_new_privs, std::string_view("no_new_privs")},
    std::pair{Layer::seccomp_list, std::string_view("seccomp_list")},
    std::pair{Layer::seccomp_arguments, std::string_view("seccomp_arguments")},
    std::pair{Layer::landlock, std::string_view("landlock")},
    std::pair{Layer::keyring, std::string_view("keyring")},
    std::pair{Layer::rlimits, std::string_view("rlimits")},
    std::pair{Layer::close_descriptors, std::string_view("close_descriptors")},
    std::pair{Layer::session, std::string_view("session")},
    std::pair{Layer::supervisor_rights, std::string_view("supervisor_rights")},
    std::pair{Layer::supervisor_filter, std::string_view("supervisor_filter")},
    std::pair{Layer::supervisor_user, std::string_view("supervisor_user")},
    std::pair{Layer::undumpable, std::string_view("undumpable")},
    std::pair{Layer::death_signal, std::string_view("death_signal")},
    std::pair{Layer::pid_namespace, std::string_view("pid_namespace")},
    std::pair{Layer::net_namespace, std::string_view("net_namespace")},
    std::pair{Layer::ipc_namespace, std::string_view("ipc_namespace")},
    std::pair{Layer::uts_namespace, std::string_view("uts_namespace")},
    std::pair{Layer::cgroup_namespace, std::string_view("cgroup_namespace")},
    std::pair{Layer::detached_root, std::string_view("detached_root")},
    std::pair{Layer::read_only_root, std::string_view("read_only_root")},
    std::pair{Layer::read_only_views, std::string_view("read_only_views")},
    std::pair{Layer::nosuid_views, std::string_view("nosuid_views")},
    std::pair{Layer::nodev_views, std::string_view("nodev_views")},
    std::pair{Layer::fresh_proc, std::string_view("fresh_proc")},
    std::pair{Layer::hidden_proc, std::string_view("hidden_proc")},
    std::pair{Layer::read_only_proc, std::string_view("read_only_proc")},
    std::pair{Layer::private_memory, std::string_view("private_memory")},
    std::pair{Layer::verified_mounts, std::string_view("verified_mounts")},
    std::pair{Layer::memory_limit, std::string_view("memory_limit")},
    std::pair{Layer::pids_limit, std::string_view("pids_limit")},
    std::pair{Layer::cpu_quota, std::string_view("cpu_quota")},
    std::pair{Layer::cpuset, std::string_view("cpuset")},
    std::pair{Layer::device_denial, std::string_view("device_denial")},
    std::pair{Layer::disk_limit, std::string_view("disk_limit")},
    std::pair{Layer::inode_limit, std::string_view("inode_limit")},
    std::pair{Layer::wall_deadline, std::string_view("wall_deadline")},
    std::pair{Layer::idle_deadline, std::string_view("idle_deadline")},
    std::pair{Layer::output_limit, std::string_view("output_limit")},
    std::pair{Layer::kill_group, std::string_view("kill_group")},
    std::pair{Layer::collect_beneath, std::string_view("collect_beneath")},
};

struct RunRequest;

#ifdef PROOFHOUSE_ABLATION
// True when the environment variable PROOFHOUSE_ABLATE (comma-separated names) holds the layer's
// name. Makes no allocation: also asked between clone and exec.
bool is_left_out(Layer layer);
// The flags of clone(2) without those of namespaces that are left out.
int namespaces_left(int all);
// The request without the limits that are left out of those that the jail itself watches.
RunRequest limits_left(const RunRequest& request);
#else
constexpr bool is_left_out(Layer /*layer*/) { return false; }
constexpr int namespaces_left(int all) { return all; }
constexpr const RunRequest& limits_left(const RunRequest& request) { return request; }
#endif

}  // namespace sandbox
