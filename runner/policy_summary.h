// What a project's policy says, for who wants to change the project.
#pragma once

#include <string>
#include <vector>

#include "runner/service.h"
#include "runner/store/records.h"

namespace runner {

// JSON {schema:1, project, target, policy_sha256, may_edit:[glob], owners:{glob:n},
// steps:[{name, run, from_base, needs, limits:{cpus, memory, wall_ms}, gpu}],
// gates:[{name, kind, steps}], approvals, last:{attempt, wall_ms}|null} of a policy's canonical
// JSON. `last`: the attempts of the project's newest task that is done.
os::Result<std::string> summarise_policy(const Project& project, const std::string& policy_json,
                                         const std::vector<store::AttemptRow>& last);

// Milliseconds from start to end; 0 where one of them is missing.
std::int64_t wall_ms_of(const store::AttemptRow& attempt);

}  // namespace runner
