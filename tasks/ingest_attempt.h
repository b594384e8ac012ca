// The attempt of kind ingest: takes a posted change in, in the strictest jail.
#pragma once

#include "sandbox/jail_client.h"
#include "tasks/evidence.h"
#include "tasks/plan.h"

namespace tasks {

// Runs `ingest take` on the posted bytes, re-indexes its pack in a second jail, publishes the
// trees, and leaves out/{ingest.json, policy.json, diff.patch, diff.json, candidate.pack,
// candidate.idx} beneath the attempt's directory. A refused change is a value
// (IngestResult::refusal); an Error is ours.
os::Result<IngestResult> ingest_change(const Plan& plan, sandbox::JailClient& jail,
                                       int attempt_directory, int cancel_fd);

}  // namespace tasks
