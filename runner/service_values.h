// What the service takes and answers: values only. The methods are in service.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gates/verdict.h"
#include "sandbox/os/result.h"
#include "tasks/change.h"
#include "tasks/ids.h"
#include "tasks/policy.h"

namespace runner {

enum class Role : std::uint8_t { agent, ci, reviewer, owner, admin };
std::string_view role_name(Role role);
os::Result<Role> parse_role(std::string_view name);

struct Principal {
  std::string name;            // os::is_plain_name
  std::string owner;           // who answers for it; empty: a person of its own
  std::string minted_by = {};  // who made it; empty: the first start did
};

// Project "*" grants the role everywhere. An admin configures and mints, but may not approve.
struct Grant {
  std::string principal;
  std::string project;
  Role role = Role::agent;
};

// Who asks. Made by authenticate().
struct Actor {
  Principal principal;
  std::vector<Grant> grants;
  std::string token = {};      // id of the token that was shown
  std::string minted_by = {};  // who made that token; empty: the first start did
  bool has(Role role, const std::string& project) const;
};

enum class Authority : std::uint8_t { local, remote };

struct Project {
  std::string name;
  std::string repository;  // path of the bare repository we read (local: it holds the branch)
  std::string url;         // authority remote: where it is fetched from and pushed to
  std::string target;      // "refs/heads/main"
  Authority authority = Authority::local;
  bool holds_policy = false;  // the policy is the server's, not the repository's
  std::string frozen;         // why, empty: not frozen
};

struct ProjectSpec {
  std::string name, repository, url, target;
  Authority authority = Authority::local;
  bool import = false;      // copy the repository to repos/<name>.git
  std::string policy_yaml;  // held policy, empty: the repository's own
};

struct Submission {
  std::string project;
  std::string base;   // commit, empty: the target's tip
  std::string patch;  // one of patch and commit; both empty: the base itself (intent run)
  std::string commit;
  std::string pack;  // id of a stored pack
  tasks::Intent intent = tasks::Intent::promote;
  std::vector<std::string> steps;
  std::string title;
  tasks::Claims claims;
  std::string priority = "normal";  // interactive | normal | background
  std::string family;
};

enum class TaskState : std::uint8_t { queued, running, awaiting_approval, promoting, done };
std::string_view task_state_name(TaskState state);

struct AttemptView {
  std::string id;
  std::int64_t fence = 0;
  std::string state;  // created | started | finished | lost
  std::string why;    // first | infra | new tip
  std::string started_at, finished_at;
};

struct ApprovalView {
  std::string by, decision, at, reason;
  bool valid = true;
  std::string void_reason;
  std::vector<std::string> overrides = {};  // gates overridden by name
};

struct PromotionView {
  std::string target, old_commit, new_commit, at;
  std::string
      receipt;  // JSON: what was tested, by which evidence, who approved, what was read back
};

// GET /v1/tasks/{id}; runner/wire.cc writes it.
struct TaskView {
  std::string id, project, title;
  tasks::Intent intent = tasks::Intent::promote;
  tasks::Claims claims;
  std::vector<std::string> guarded;
  TaskState state = TaskState::queued;
  std::string verdict;        // empty until there is one; accepted, rejected …, cancelled
  std::string failure_class;  // empty: none
  std::optional<std::string> assurance;
  gates::Reason reason;
  std::string reason_code, next_step;
  std::string base_commit, base_tree, candidate_commit, candidate_tree;
  std::string diff_digest, policy_sha256, evidence_sha256, sandbox_level;
  std::vector<gates::GateResult> gates;
  std::vector<AttemptView> attempts;
  int approvals_needed = 0, owners_needed = 0;
  std::vector<ApprovalView> approvals;
  std::vector<std::string> asks;              // inconclusive gates that an approval must name
  std::vector<std::string> overridable = {};  // gates that owners may override by name now
  std::optional<PromotionView> promotion;
  std::string principal, priority, family, created_at, updated_at;
  std::vector<std::string> steps;  // names, for the log links
  std::string etag;                // digest of state, candidate, policy and evidence
};

struct Submitted {
  TaskView task;
  bool replayed = false;  // an earlier POST with the same key made it
};

struct EventView {
  std::int64_t id = 0;  // durable, global, increasing: the SSE id
  std::string task, type, at;
  std::string data;  // JSON
};

struct LogChunk {
  std::string bytes;         // raw output of the change's side (or of `run` asked for)
  std::int64_t offset = 0;   // of the first byte within the whole output
  std::int64_t total = 0;    // printed so far
  std::int64_t omitted = 0;  // left out between head and tail
  bool finished = false;
};

struct Why {
  std::string state;      // what the task waits for, in one word
  std::string text;       // the binding constraint
  std::string next_step;  // what would unblock it
};

// abstain: looked at, and decides nothing; takes an earlier decision of the same person back.
enum class Decision : std::uint8_t { approve, refuse, abstain };
std::string_view decision_name(Decision decision);
os::Result<Decision> parse_decision(std::string_view name);

struct ApprovalRequest {
  Decision decision = Decision::approve;
  std::string if_match;            // etag that the reviewer saw
  std::string commit;              // candidate that the reviewer saw
  std::string diff_digest;         // empty: not repeated
  std::vector<std::string> gates;  // inconclusive gates that the reviewer accepts by name
  std::string reason;              // required to refuse and to override
  // All gates that did not pass, which an owner overrides by name.
  std::vector<std::string> overrides = {};
};

struct TaskFilter {
  std::string project, state, principal;
  std::string after;  // keyset cursor: id of the last row seen
  int limit = 50;     // 1..200
};

struct Readiness {
  bool ready = false;
  std::vector<std::string> problems;  // each names what is missing and how to mend it
};

struct MachineView {
  std::string host, level;
  int cpus = 0, cpus_free = 0;
  std::int64_t memory = 0, memory_free = 0;
  int queued = 0, running = 0;
};

struct IssuedToken {
  std::string token;  // shown once
  std::string id;
  std::string expires_at;
};

}  // namespace runner
