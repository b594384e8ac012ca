// TaskView from rows: what a client is shown of a task.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runner/evidence_copy.h"
#include "runner/service.h"
#include "runner/store/records.h"
#include "runner/store/sqlite.h"
#include "sandbox/os/guarded.h"
#include "tasks/policy.h"

namespace runner {

// Policies by digest, read once. Safe from any thread; keeps kMost.
class PolicyCache {
 public:
  // The folder outlives this object.
  explicit PolicyCache(const EvidenceFolder& folder) : folder_(folder) {}
  // not_found: the policy's blob is no longer kept.
  os::Result<tasks::Policy> get(const std::string& sha256);

 private:
  static constexpr std::size_t kMost = 64;
  const EvidenceFolder& folder_;
  os::Guarded<std::map<std::string, tasks::Policy>> known_;
};

// Digest of state, candidate, policy and evidence.
std::string etag_of(const store::TaskRow& task);

// The view; `policy` may be null where it is no longer kept (then `steps` are those asked for).
os::Result<TaskView> make_task_view(store::Database& database, const store::TaskRow& task,
                                    const tasks::Policy* policy);

}  // namespace runner
