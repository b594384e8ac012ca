#include "runner/service.h"

#include <algorithm>
#include <array>

namespace runner {
namespace {

constexpr std::array kRoles{Role::agent, Role::ci, Role::reviewer, Role::owner, Role::admin};

std::string_view problem_of(os::Code code) {
  switch (code) {
    case os::Code::invalid:
      return "invalid_field";
    case os::Code::not_found:
      return "not_found";
    case os::Code::conflict:
      return "wrong_state";
    case os::Code::denied:
      return "forbidden";
    case os::Code::exhausted:
      return "queue_full";
    case os::Code::unavailable:
    case os::Code::timeout:
      return "unavailable";
    case os::Code::cancelled:
    case os::Code::corrupt:
    case os::Code::internal:
      return "internal";
  }
  return "internal";
}

}  // namespace

ServiceError to_service_error(const os::Error& error) {
  ServiceError answer;
  answer.problem = problem_of(error.code);
  answer.detail = error.message;
  switch (error.code) {
    case os::Code::exhausted:
    case os::Code::unavailable:
    case os::Code::timeout:
      answer.retryable = true;
      answer.next_step = "try again in a few seconds";
      break;
    case os::Code::cancelled:
    case os::Code::corrupt:
    case os::Code::internal:
      answer.next_step = "ask the operator to look at the server's log";
      break;
    case os::Code::invalid:
    case os::Code::not_found:
    case os::Code::conflict:
    case os::Code::denied:
      break;
  }
  return answer;
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::agent:
      return "agent";
    case Role::ci:
      return "ci";
    case Role::reviewer:
      return "reviewer";
    case Role::owner:
      return "owner";
    case Role::admin:
      return "admin";
  }
  return "agent";
}

os::Result<Role> parse_role(std::string_view name) {
  const auto* const found = std::ranges::find(kRoles, name, role_name);
  if (found == kRoles.end())
    return os::fail(os::Code::invalid, "a role is agent, ci, reviewer, owner or admin");
  return *found;
}

std::string_view decision_name(Decision decision) {
  switch (decision) {
    case Decision::approve:
      return "approve";
    case Decision::refuse:
      return "refuse";
    case Decision::abstain:
      return "abstain";
  }
  return "abstain";
}

os::Result<Decision> parse_decision(std::string_view name) {
  for (const Decision decision : {Decision::approve, Decision::refuse, Decision::abstain})
    if (decision_name(decision) == name) return decision;
  return os::fail(os::Code::invalid, "a decision is approve, refuse or abstain");
}

bool Actor::has(Role role, const std::string& project) const {
  return std::ranges::any_of(grants, [&](const Grant& grant) {
    return grant.role == role && (grant.project == "*" || grant.project == project);
  });
}

std::string_view task_state_name(TaskState state) {
  switch (state) {
    case TaskState::queued:
      return "queued";
    case TaskState::running:
      return "running";
    case TaskState::awaiting_approval:
      return "awaiting_approval";
    case TaskState::promoting:
      return "promoting";
    case TaskState::done:
      return "done";
  }
  return "done";
}

}  // namespace runner
