// Attempts staged as serve does it, on a data directory of their own. Needs root.
#pragma once

#include <string>

#include "runner/executor/launch.h"
#include "sandbox/os/files.h"
#include "tasks/evidence.h"
#include "tasks/policy.h"

namespace bench {

class StagedAttempts {
 public:
  // `prefix`: "proofhouse-<8 hex>", which names the instance and begins its cgroups' names.
  static os::Result<StagedAttempts> make(const std::string& prefix);

  // A new attempt of the intent `run` on an empty tree; what an executor is told to start.
  os::Result<runner::AttemptStart> stage(const tasks::Policy& policy) const;
  // Its result, which has to be there and `completed`.
  os::Result<tasks::Evidence> result(const tasks::AttemptId& attempt) const;
  os::Result<void> remove(const tasks::AttemptId& attempt) const;

  const runner::ExecutorOptions& executor() const { return executor_; }

 private:
  explicit StagedAttempts(os::TempDir data) : data_(std::move(data)) {}

  os::TempDir data_;
  runner::ExecutorOptions executor_;
};

// A policy without steps, or with one that runs `script`.
tasks::Policy policy_of(const std::string& script);

}  // namespace bench
