// Answers: what the server says, as values. Unknown members are passed over: a newer server may say
// more. All texts are the server's or a change's: escape them before printing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/cli/exit_code.h"
#include "runner/cli/options.h"
#include "sandbox/os/result.h"

namespace runner::cli {

// A problem document (RFC 9457).
struct Problem {
  std::string code;  // empty: the body was none
  std::string detail;
  std::string next_step;
  std::vector<std::pair<std::string, std::string>> fields;  // JSON pointer, what is wrong
  std::vector<std::pair<std::string, std::string>> extra;   // path, line, hunk …
};
Problem read_problem(std::string_view json);

struct GateAnswer {
  std::string name, kind, status, assurance, summary;
  std::vector<std::string> reasons;
};

struct ApprovalAnswer {
  std::string by, decision, reason, void_reason;
};

struct TaskAnswer {
  std::string id, project, title, intent, principal, created_at;
  TaskEnd end;
  std::string assurance, level;
  std::string reason, next_step;
  std::vector<std::string> guarded;
  std::string base, candidate, diff_digest;
  std::vector<GateAnswer> gates;
  std::int64_t approvals_needed = 0, owners_needed = 0, approvals_valid = 0;
  std::vector<ApprovalAnswer> approvals;
  std::vector<std::string> asks;             // inconclusive gates that an approval must name
  std::string promoted_to, promoted_target;  // empty: did not land
  std::vector<std::string> steps;            // that have logs
  std::string etag;

  // No wait makes more of it without a person.
  bool is_settled() const { return end.state == "done" || end.state == "awaiting_approval"; }
};
os::Result<TaskAnswer> read_task(std::string_view json);

struct TaskList {
  std::vector<TaskAnswer> tasks;
  std::string next;  // cursor of the next page, empty: none
};
os::Result<TaskList> read_tasks(std::string_view json);

struct WhyAnswer {
  std::string state, text, next_step;
};
os::Result<WhyAnswer> read_why(std::string_view json);

struct ProjectAnswer {
  std::string name, repository, url, target, authority, frozen;
  bool holds_policy = false;
};
os::Result<ProjectAnswer> read_project(std::string_view json);
os::Result<std::vector<ProjectAnswer>> read_projects(std::string_view json);

struct MachineAnswer {
  std::string host, level;
  std::int64_t cpus = 0, cpus_free = 0, memory = 0, memory_free = 0, queued = 0, running = 0;
};
os::Result<std::vector<MachineAnswer>> read_machines(std::string_view json);

struct GpuAnswer {
  std::string uuid, name, state, reason, owner;
  std::int64_t memory = 0, uses = 0;
  bool is_cordoned = false;
};
os::Result<std::vector<GpuAnswer>> read_gpus(std::string_view json);

struct ReadyAnswer {
  bool ready = false;
  std::vector<std::string> problems;
};
os::Result<ReadyAnswer> read_ready(std::string_view json);

// The text members of an object, by name ("id", "token"); a missing one is empty.
os::Result<std::vector<std::string>> read_texts(std::string_view json,
                                                const std::vector<std::string>& names);
// A truth value of an object; corrupt if it is not there.
os::Result<bool> read_flag(std::string_view json, const std::string& name);

// {ready, problems, machines} from the answers of /readyz and /v1/machines.
std::string status_json(std::string_view ready, std::string_view machines);

// JSON with an indent, for people; corrupt input is left as it is.
std::string pretty(std::string_view json);

// A line for people from one event of a task's stream; empty: nothing to tell.
std::string describe_event(std::string_view type, std::string_view data);

// Bodies of requests.
std::string submission_body(const SubmitCommand& command, const std::string& patch,
                            const std::string& commit, const std::string& pack);
std::string decision_body(const DecideCommand& command, const TaskAnswer& task);
std::string project_body(const ProjectAddCommand& command, const std::string& policy);
std::string principal_body(const TokenCreateCommand& command);
std::string grant_body(const TokenCreateCommand& command, const std::string& role);
std::string token_body(const TokenCreateCommand& command);
std::string reason_body(const std::string& reason);

}  // namespace runner::cli
