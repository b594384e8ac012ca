// Wire: the service's values to and from the JSON of the API.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runner/service.h"

namespace runner {

std::string to_wire(const TaskView& task);
std::string to_wire(const std::vector<TaskView>& tasks, const std::string& next_cursor);
std::string to_wire(const Project& project);
std::string to_wire(const std::vector<Project>& projects);
std::string to_wire(const Why& why);
std::string to_wire(const MachineView& machine);
std::string to_wire(const IssuedToken& token);
std::string to_wire(const Readiness& readiness);
std::string to_wire(const LoginCode& code);
std::string to_wire(const std::vector<TokenView>& tokens);
std::string to_wire(const Backtest& backtest);

struct PublicKeyView {
  std::string id;
  std::string pem;
};
std::string to_wire(const PublicKeyView& key);
std::string to_wire(const sandbox::gpu::GpuStatus& gpu);
std::string to_wire(const std::vector<sandbox::gpu::GpuStatus>& gpus);  // {gpus:[…]}

// A problem document (RFC 9457) with code, next_step, retryable, errors[] and the extra members.
std::string problem_to_wire(const ServiceError& error, int status);
// HTTP status of a problem code; 500 for a code that is not in the table.
int status_of(const ServiceError& error);

// Bodies of POSTs. Unknown keys, wrong types, nesting over 16 and duplicate keys are refused with a
// JSON pointer (problems bad_json and invalid_field).
Answer<Submission> submission_from_wire(std::string_view json);
Answer<ApprovalRequest> approval_from_wire(std::string_view json);
Answer<ProjectSpec> project_from_wire(std::string_view json);
Answer<BacktestRequest> backtest_from_wire(std::string_view json);  // {policy, last?}
// Bytes of a text in a body where nothing else is said.
inline constexpr std::size_t kLongestText = 4096;
// {reason}, of at most `limit` bytes
Answer<std::string> reason_from_wire(std::string_view json, std::size_t limit = kLongestText);

Answer<Principal> principal_from_wire(std::string_view json);  // {name, owner?}
Answer<Grant> grant_from_wire(std::string_view json);          // {principal, project?, role}

struct TokenRequest {
  std::string principal;
  std::chrono::seconds lifetime{0};  // 0: the configured default
};
Answer<TokenRequest> token_request_from_wire(std::string_view json);
Answer<std::string> cordon_reason_from_wire(std::string_view json);  // {reason?}; empty: {}

}  // namespace runner
