// Executor: the engine-neutral door to whatever starts attempts. The local one (local.h) speaks
// with `proofhouse executor` over a unix socket; a cluster's batch system can stand behind the same
// calls.
//
// Identity of an execution is (attempt, fence), never a pid or a native id. Start is at-least-once:
// the attempt's own claim (its first act: mkdir claim.<fence>) makes it at most once. The truth is
// result.json of the right fence; then the engine's word; then its silence after a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/gpu/lease.h"
#include "sandbox/host.h"
#include "tasks/plan.h"

namespace runner {

// What an executor can offer.
struct ExecutorProbe {
  std::string version;
  std::vector<sandbox::Feature> features;
  std::vector<std::string> missing;  // required features that are missing: no attempt can start
  std::vector<int> cpus;             // CPUs that may be leased
  os::Bytes memory;                  // memory that may be leased in all
  std::vector<sandbox::gpu::GpuStatus> gpus;  // that may be leased, as they are now
  std::string gpu_problem;                    // why there are none
  std::string environment_sha256;             // of `host`
  std::string level;                          // full | reduced
};

// Starts attempts/<attempt>/<fence>, in which plan.json and in/ already lie (made by serve,
// durable). The executor gives the directory to the attempt's own uid (group: serve's, setgid,
// 0750).
struct AttemptStart {
  tasks::AttemptId attempt;
  std::int64_t fence = 1;
  tasks::AttemptKind kind = tasks::AttemptKind::verify;
  std::vector<int> cpus;  // the lease; refused (conflict) if one is leased to another attempt;
                          // empty: no lease, any CPU (an ingest, which no queue may delay)
  os::Bytes memory;
  std::string repository;  // bare repository shown read-only (ingest); empty: none
};

enum class AttemptState : std::uint8_t { running, ended, lost };

struct AttemptStatusReport {
  tasks::AttemptId attempt;
  std::int64_t fence = 0;
  AttemptState state = AttemptState::running;
  std::string detail;  // lost: why
};

class Executor {
 public:
  virtual ~Executor() = default;
  virtual os::Result<ExecutorProbe> probe() = 0;
  // Accepted: the attempt is starting or has been (the same call again is no error). unavailable:
  // try again; conflict: the lease is taken; exhausted: no id range left.
  virtual os::Result<void> start(const AttemptStart& start) = 0;
  // All attempts of this instance that the executor knows, also those adopted after a restart.
  virtual os::Result<std::vector<AttemptStatusReport>> list() = 0;
  // Asks the attempt to stop (SIGTERM), then after `grace` ends it and its jail. Idempotent.
  virtual os::Result<void> cancel(const tasks::AttemptId& attempt, std::int64_t fence,
                                  std::chrono::milliseconds grace) = 0;
  // Forgets an ended attempt and removes attempts/<attempt>/<fence> (its cgroups and id ranges are
  // gone already). Idempotent.
  virtual os::Result<void> remove(const tasks::AttemptId& attempt, std::int64_t fence) = 0;
  // Takes a GPU out of service after its present lease, or back into it. not_found: no such GPU.
  virtual os::Result<void> set_gpu_cordon(const std::string& uuid, bool is_cordoned,
                                          const std::string& reason) = 0;
  // Blocks until an attempt ended or was lost since the last call, or `wait` passed; what changed.
  virtual os::Result<std::vector<AttemptStatusReport>> wait_changes(
      std::chrono::milliseconds wait) = 0;
};

}  // namespace runner
