// The rows of the database as values. Times are RFC 3339 UTC text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/service.h"
#include "tasks/change.h"

namespace runner::store {

struct TokenRow {
  std::string sha256;  // of the token; the token itself is nowhere
  std::string id, principal, created_at, expires_at, revoked_at;
  std::string minted_by = {};     // principal who made it; empty: the first start did
  std::string last_used_at = {};  // to the minute; empty: never
};

struct ProjectRow {
  Project project;
  std::string policy_yaml;  // held by the server; empty: the repository's own
};

struct PackRow {
  std::string id, project, principal;
  std::int64_t bytes = 0;
  std::string created_at;
};

// How a task that is done ended, or what it waits with. `judgement` is the canonical JSON of the
// verdict on `evidence_sha256`; a refusal by a reviewer changes verdict and class, not judgement.
struct TaskRow {
  std::int64_t sequence = 0;  // order of admission
  std::string id, project, principal, title, priority, family;
  tasks::Intent intent = tasks::Intent::promote;
  tasks::Claims claims;
  std::vector<std::string> steps;
  TaskState state = TaskState::queued;
  std::string verdict, failure_class, judgement;
  std::string reason_code, reason, next_step;  // set where no judgement says it
  tasks::IngestResult change;
  std::string policy_sha256, diff_sha256, evidence_sha256, level;
  int cpus = 1;               // what an attempt needs
  std::int64_t memory = 0;    // bytes that an attempt needs
  std::int64_t total_ms = 0;  // longest an attempt may take
  int approvals_needed = 0, owners_needed = 0;
  std::string attempt_why = "first";  // of the next attempt: first | infra | new tip
  std::string attempt;                // id of the latest attempt; empty: a new one is made
  std::int64_t fence = 0;             // of the latest attempt
  int infra_faults = 0, rebases = 0, overtaken = 0;
  std::string cancel_by;  // who asked to cancel; empty: nobody
  // Until when owners may override the gates of a task that is done; empty: they may not. Its
  // objects are kept as long.
  std::string override_until;
  // Since when it is in its project's promotion queue; empty: it is not. move_task() sets it.
  std::string landing_since;
  std::string created_at, updated_at;
};

struct KeyRow {
  std::string principal, key, body_sha256, task, expires_at;
};

// created: the row is durable, the executor may not know of it yet.
enum class AttemptRowState : std::uint8_t { created, started, finished, lost };
std::string_view attempt_row_state_name(AttemptRowState state);
os::Result<AttemptRowState> parse_attempt_row_state(std::string_view name);

struct AttemptRow {
  std::string id;
  std::int64_t fence = 0;
  std::string task;
  AttemptRowState state = AttemptRowState::created;
  std::string why;
  std::vector<int> cpus;    // lease
  std::int64_t memory = 0;  // lease, bytes
  std::string stop_reason;  // cancel | deadline: why we asked it to stop; empty: we did not
  std::string result_sha256;
  std::int64_t events_offset = 0;  // bytes of its events.jsonl that are in the table
  std::string deadline_at, started_at, finished_at;
  bool is_active() const {
    return state == AttemptRowState::created || state == AttemptRowState::started;
  }
};

struct EventRow {
  std::int64_t id = 0;
  std::string task, project, type, at;
  std::string data = "{}";  // JSON object
};

struct ApprovalRow {
  std::int64_t id = 0;
  std::string task, principal;
  std::string chain;  // root of the principal's owner chain: who this person is
  bool is_owner = false;
  Decision decision = Decision::approve;
  std::string reason;
  std::vector<std::string> gates;      // inconclusive gates accepted by name
  std::vector<std::string> overrides;  // gates that did not pass, overridden by name
  std::string binding;                 // JSON of all that the decision was about
  std::string candidate_commit, diff_digest, policy_sha256;
  std::string void_reason;  // empty: valid
  std::string at;
};

// moving: about to move the ref, or moved without a receipt yet.
enum class PromotionState : std::uint8_t { moving, done, failed };

struct PromotionRow {
  std::string task, project, target, old_commit, new_commit;
  PromotionState state = PromotionState::moving;
  std::string receipt;  // JSON; empty while moving
  std::string at;
  std::string statements = {};  // signed, one envelope a line; empty while moving
  // Copy of the statements in the repository: empty: none is wanted; "due"; "done".
  std::string notes = {};
};

}  // namespace runner::store
