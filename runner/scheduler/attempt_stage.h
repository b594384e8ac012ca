// Staging: the directory of an attempt that verifies, made before the executor hears of it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "runner/context.h"
#include "runner/store/records.h"
#include "tasks/plan.h"

namespace runner {

// Names the kept build and evidence of a base: SHA-256 over base tree, policy, environment, level.
std::string base_key(const std::string& base_tree, const std::string& policy_sha256,
                     const std::string& environment_sha256, const std::string& level);

// Makes attempts/<id>/<fence> with plan.json (durable, last), policy.json, and where the base was
// built before (layers/<key> and its kept evidence are both there) base.json with the parsed
// reports of its runs below evidence/. `key` is base_key.
os::Result<void> stage_attempt(const ServiceContext& context, const store::TaskRow& task,
                               const store::AttemptRow& attempt, const std::string& key);

// What a task's attempt may take besides limits.total: the wait for GPUs, where a step asks for
// any.
std::chrono::milliseconds gpu_wait_of(const ServiceContext& context, const store::TaskRow& task);

// The runs of an ended attempt that later ones may use in place of running the base again: plain
// runs of the base's side made here. Empty: there are none, or one of them did not end by itself.
std::optional<tasks::Evidence> base_evidence_of(const tasks::Evidence& evidence);

}  // namespace runner
