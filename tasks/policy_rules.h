// PolicyRules: what must hold between the parts of a policy, each of which is right by itself.
#pragma once

#include <string>
#include <vector>

#include "tasks/policy.h"

namespace tasks {

// One rule that a policy breaks. `where` is the path of the part: "steps.<name>",
// "steps.<name>.needs.<index>", "gates.<name>.steps.<index>", "promotion.approvals" …
struct PolicyBreach {
  std::string where;
  std::string message;  // what is wrong and what is allowed
  bool operator==(const PolicyBreach&) const = default;
};

// All rules that the policy breaks: needs name what exists and form no circle, only outputs cross
// from a domain to another, gates have steps with a report they can read, limits fit each other,
// landing without a person needs an assurance. Empty: it holds.
std::vector<PolicyBreach> find_breaches(const Policy& policy);

}  // namespace tasks
