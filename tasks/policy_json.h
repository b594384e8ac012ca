// The canonical JSON of a policy: sorted keys, every default written out. Its SHA-256 is the
// policy's digest, and it is what attempts and `rejudge` read (no YAML after ingest).
#pragma once

#include <string>
#include <string_view>

#include "tasks/policy.h"

namespace tasks {

std::string policy_to_json(const Policy& policy);
// invalid on unknown keys or a schema newer than ours.
os::Result<Policy> policy_from_json(std::string_view json);

}  // namespace tasks
