// Reads a policy file strictly: DESIGN.md §4 is the language, contracts are in this header.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/policy.h"

namespace tasks {

// One mistake in a policy, with its place (both from 1).
struct PolicyProblem {
  int line = 0;
  int column = 0;
  std::string message;  // what is wrong, what is allowed
  bool operator==(const PolicyProblem&) const = default;
};

// A policy, or all that is wrong with it (at most 50 problems).
struct PolicyReading {
  std::optional<Policy> policy;
  std::vector<PolicyProblem> problems;
};

// Reads at most 256 KiB of YAML, nesting at most 16. Refused with line and column: unknown and
// duplicate keys, aliases, anchors, merge keys, several documents, wrong units, out-of-range
// values, needs that name nothing or form a circle, gates without what they need. What the design
// has but this version does not says "not supported yet".
PolicyReading read_policy(std::string_view yaml);

// "proofhouse.yaml:12:3: unknown key 'stepz'; allowed: …", one a line.
std::string format_problems(std::string_view file, const std::vector<PolicyProblem>& problems);

}  // namespace tasks
