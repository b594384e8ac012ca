// What an attempt may ask its jail, and what the jail answers. The jail takes names only: it opens
// them beneath the descriptors that its executor gave it, and refuses everything outside its
// Bounds.
//
// Transport: a SOCK_SEQPACKET unix socket, one JSON object a packet, at most kMaxPacket bytes.
// Requests are answered in order; only `cancel` may be sent while a run is under way.
// Encoding: sandbox/wire.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/gpu_grant.h"
#include "sandbox/limits.h"
#include "sandbox/outcome.h"

namespace sandbox {

inline constexpr std::size_t kMaxPacket = 160U << 10U;

// Descriptor numbers at which a jail finds what it was given (see os::SpawnRequest).
inline constexpr int kSocketFd = 64;      // its attempt
inline constexpr int kBoundsFd = 65;      // Bounds as JSON in a sealed memory file
inline constexpr int kAttemptDirFd = 66;  // attempts/<id>/<fence>, O_PATH|O_DIRECTORY
inline constexpr int kTreesFd = 67;       // trees/ (absent for `sandbox run`)
inline constexpr int kLayersFd = 68;      // layers/ (absent where nothing is kept)
inline constexpr int kRepositoryFd = 69;  // the project's bare repository (ingest only)
inline constexpr int kDirectoryFd = 70;   // `sandbox run --workspace DIR` only
inline constexpr int kProgramsFd = 71;    // directory of our programs, shown under /proofhouse
inline constexpr int kGrantsFd = 72;      // directory of GPU grants (absent where there is no GPU)
// Where an attempt finds its executor, which leases GPUs to its steps (sandbox/gpu/desk.h).
inline constexpr int kExecutorFd = 73;

// Trust domains: each has an id range, and so a user namespace, of its own.
enum class Domain : std::uint8_t { change, base, judge, reader };

// A range of host ids, mapped to 0..count-1 inside.
struct IdRange {
  std::uint32_t start = 0;
  std::uint32_t count = 0;
  bool operator==(const IdRange&) const = default;
};

// Inside a sandbox commands run as this user ("build"), never as 0.
inline constexpr std::uint32_t kInnerUid = 1000;

// How much of the next sandbox a jail makes while it waits for its command. What is made ahead is
// used by one command and never again.
enum class Ahead : std::uint8_t {
  nothing,
  namespaces,  // a cgroup and a network namespace
  sandbox      // all but what the command alone sees
};

// What an executor lets one jail do. Fixed for the jail's life.
struct Bounds {
  std::string attempt;            // plain name, for messages
  std::string cgroup;             // "proofhouse-<8 hex>/<attempt>" below each hierarchy's root
  std::vector<IdRange> ids;       // one for each Domain, in its order
  std::uint32_t attempt_uid = 0;  // owner of what the jail writes into the attempt's directory
  std::uint32_t attempt_gid = 0;  // serve's group: may read it
  std::vector<int> cpus;          // the lease: host CPU numbers
  os::Bytes memory;               // the lease: no run's memory limit may exceed it
  std::vector<std::string> gaps_allowed;     // names of protections that may be missing
  std::vector<std::string> read_only_paths;  // further host paths shown read-only (operator's)
  std::vector<DriverFile> driver_files;      // for runs that were granted a GPU
  Ahead ahead = Ahead::sandbox;
  bool operator==(const Bounds&) const = default;
};

// A writable tree that steps share: an overlay (sized tmpfs upper) over a checkout.
struct WorkspaceRequest {
  std::string name;  // plain name, new within this jail
  Domain domain = Domain::change;
  std::string tree;        // 40 hex digits: trees/<tree> is the lower layer; empty: none
  std::string layer;       // key below layers/: a kept build between tree and upper; empty: none
  bool directory = false;  // kDirectoryFd is the lower layer instead of a tree
  os::Bytes disk{1ULL << 30U};
  std::int64_t inodes = 200'000;
  bool operator==(const WorkspaceRequest&) const = default;
};

// How a run sees its workspace.
enum class WorkspaceMode : std::uint8_t {
  none,    // an empty /workspace of its own
  shared,  // writes stay for later runs
  scratch  // an empty upper of its own over the workspace: nothing stays
};

// What a run sees read-only besides the root.
enum class MountSource : std::uint8_t {
  output,      // name = "<run id>/<output name>" of an earlier run of this jail
  input,       // name = path below the attempt's directory
  repository,  // kRepositoryFd; name unused
};

struct Mount {
  MountSource source = MountSource::output;
  std::string name;
  std::string target;  // absolute path inside: below /needs/ or /in/
  bool operator==(const Mount&) const = default;
};

// A file or directory to copy out after every process of the run is dead.
struct Collect {
  std::string name;  // plain name
  std::string path;  // relative to /workspace (or /out if `from_out`); plain files and directories
  bool from_out = false;
  bool is_directory = false;
  os::Bytes limit{64ULL << 20U};
  std::int64_t files = 10'000;
  bool operator==(const Collect&) const = default;
};

enum class Profile : std::uint8_t {
  step,   // a command of a policy
  strict  // our own parsers: no /workspace, /tmp and /dev/shm of 1 MiB, fewer system calls
};

// One command.
struct RunRequest {
  std::string id;  // plain name, new within this jail; the names of its files
  Domain domain = Domain::change;
  Profile profile = Profile::step;
  std::string workspace;  // name of a WorkspaceRequest; empty with WorkspaceMode::none
  WorkspaceMode mode = WorkspaceMode::none;
  std::vector<std::string> command;      // argv; argv[0] is an absolute path inside
  std::vector<std::string> environment;  // NAME=value, exactly these
  Limits limits;
  std::vector<Mount> mounts;
  std::vector<std::string> clear;  // below /workspace: removed before the start (old reports)
  std::vector<Collect> collect;
  bool separate_error_output = false;  // stderr apart from stdout: only stdout is `output`
  os::Bytes out{0};   // size of a writable tmpfs at /out that lives until the jail ends; 0: none
  bool gpus = false;  // it has the GPUs that the executor granted to this very run
  // None, or one more command that runs at the same time: what either prints on its standard output
  // the other reads on its standard input, and only what they print on the error output is kept.
  // Both have a workspace, not the same, and fit the lease together. When this one has ended, the
  // other has a few seconds left.
  std::vector<RunRequest> beside;
  bool operator==(const RunRequest&) const = default;
};

// A copy of something collected, below the attempt's directory.
struct Collected {
  std::string name;
  std::string error;  // why there is none: missing, not a regular file, too large …; empty: ok
  std::string path;   // "runs/<id>/collected/<name>" (a file or a directory)
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  bool operator==(const Collected&) const = default;
};

// What the jail says of a run. Its output lies in the attempt's directory: runs/<id>/head and
// runs/<id>/tail (the tail exists only if something was omitted between them).
struct RunResult {
  Outcome outcome;
  std::vector<LimitHit> limits_hit;
  Usage usage;
  std::int64_t output_bytes = 0;  // all that was printed
  std::int64_t head_bytes = 0;
  std::int64_t tail_bytes = 0;
  std::vector<Collected> collected;
  std::string level = "full";     // full | reduced
  std::vector<std::string> gaps;  // what was not enforced, by name
  std::vector<RunResult> beside;  // one for each of RunRequest::beside
  bool operator==(const RunResult&) const = default;
};

// Moves a tree that an ingest run wrote into trees/. The jail computes its git id in a fresh strict
// run and refuses when it differs.
struct PublishRequest {
  std::string run;   // the run whose /out holds it
  std::string path;  // relative to /out
  std::string tree;  // 40 hex digits
  bool operator==(const PublishRequest&) const = default;
};

// Keeps a workspace's upper layer as layers/<key>, complete or not at all. Existing: left as it is.
struct KeepLayerRequest {
  std::string workspace;
  std::string key;  // 64 hex digits
  bool operator==(const KeepLayerRequest&) const = default;
};

}  // namespace sandbox
