// Service: the use cases, and the only door for HTTP, web and MCP. Checks grants on parsed objects,
// writes durably before it answers, executes nothing itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runner/backtest_values.h"
#include "runner/page_values.h"
#include "runner/proof_values.h"
#include "runner/service_values.h"
#include "sandbox/gpu/lease.h"
#include "tasks/diff_view.h"

namespace runner {

// An error that a client sees: `problem` is the stable code of the API ("stale_base",
// "invalid_field", "patch_conflict" …); the HTTP status follows from it by one table.
struct ServiceError {
  std::string problem;
  std::string detail;
  std::string next_step;
  bool retryable = false;
  std::string pointer;                       // JSON pointer of the field, empty if none
  std::map<std::string, std::string> extra;  // further members: path, line, hunk …
};

template <class T>
class [[nodiscard]] Answer : public std::expected<T, ServiceError> {
 public:
  using std::expected<T, ServiceError>::expected;
};

// Problem of an os::Error that reached the service.
ServiceError to_service_error(const os::Error& error);

// All methods are safe to call from several threads. Reads are filtered by grants: what the actor
// may not see answers not_found.
class Service {
 public:
  virtual ~Service() = default;

  virtual Answer<Actor> authenticate(const std::string& token) = 0;
  // Opens a browser's session: the code is shown on the terminal of whoever has the token, typed
  // into the browser once, and gives the session's secret. rate_limited: too many wrong codes.
  virtual Answer<LoginCode> create_login_code(const Actor& actor) = 0;
  virtual Answer<OpenedSession> open_session(const std::string& code) = 0;
  // unauthorized: it has ended, or the token behind it has.
  virtual Answer<WebSession> session(const std::string& secret) = 0;
  virtual Answer<void> close_session(const std::string& secret) = 0;
  virtual Answer<void> create_principal(const Actor& actor, const Principal& principal) = 0;
  virtual Answer<void> grant(const Actor& actor, const Grant& grant) = 0;
  virtual Answer<IssuedToken> create_token(const Actor& actor, const std::string& principal,
                                           std::chrono::seconds lifetime) = 0;
  virtual Answer<void> revoke_token(const Actor& actor, const std::string& id) = 0;
  // Of one principal or (empty, administrators only) of all; one's own are for everybody to see.
  virtual Answer<std::vector<TokenView>> list_tokens(const Actor& actor,
                                                     const std::string& principal) = 0;

  virtual Answer<Project> add_project(const Actor& actor, const ProjectSpec& spec) = 0;
  virtual Answer<std::vector<Project>> projects(const Actor& actor) = 0;
  // Stops (with a reason) or lets go on what a project lands; owners and administrators only. While
  // it is frozen nothing is landed and no change to promote is taken in; what is queued is kept.
  virtual Answer<Project> freeze_project(const Actor& actor, const std::string& project,
                                         const std::string& reason) = 0;
  virtual Answer<Project> unfreeze_project(const Actor& actor, const std::string& project) = 0;
  // JSON: what one may edit, what will run, limits, and how long it took last time.
  virtual Answer<std::string> policy_view(const Actor& actor, const std::string& project) = 0;
  virtual Answer<std::string> store_pack(const Actor& actor, const std::string& project,
                                         const std::string& bytes) = 0;

  // Takes a change in (jailed, within 5 s), then queues it durably. `key` empty: derived.
  virtual Answer<Submitted> submit(const Actor& actor, const Submission& submission,
                                   const std::string& key) = 0;
  virtual Answer<TaskView> task(const Actor& actor, const std::string& id) = 0;
  // Returns when the etag differs from `seen`, or after `wait` (at most 60 s).
  virtual Answer<TaskView> wait_task(const Actor& actor, const std::string& id,
                                     const std::string& seen, std::chrono::milliseconds wait) = 0;
  virtual Answer<std::vector<TaskView>> list_tasks(const Actor& actor,
                                                   const TaskFilter& filter) = 0;
  virtual Answer<TaskView> cancel(const Actor& actor, const std::string& id) = 0;
  // Events after `after`, of one task or (empty) of all that the actor may see; waits for the
  // first.
  virtual Answer<std::vector<EventView>> events(const Actor& actor, const std::string& task,
                                                std::int64_t after,
                                                std::chrono::milliseconds wait) = 0;
  // Id of the newest event of all; 0: there is none yet.
  virtual Answer<std::int64_t> latest_event() = 0;
  virtual Answer<LogChunk> log(const Actor& actor, const std::string& task, const std::string& step,
                               std::int64_t offset, std::int64_t limit) = 0;
  virtual Answer<std::string> report_json(const Actor& actor, const std::string& task) = 0;
  virtual Answer<std::string> report_markdown(const Actor& actor, const std::string& task) = 0;
  // The pairs of a benchmark gate as an SVG picture (see runner/benchmark_plot.h).
  virtual Answer<std::string> plot(const Actor& actor, const std::string& task,
                                   const std::string& gate) = 0;
  // The patch that a reviewer decides on, as text (untrusted).
  virtual Answer<std::string> diff(const Actor& actor, const std::string& task) = 0;
  // The same as lines. not_found: it is no longer kept.
  virtual Answer<tasks::DiffView> diff_view(const Actor& actor, const std::string& task) = 0;
  // Evidence with its reports, and the policy; not_found before there is any.
  virtual Answer<std::shared_ptr<const JudgedTask>> judged(const Actor& actor,
                                                           const std::string& task) = 0;
  virtual Answer<std::string> artifact(const Actor& actor, const std::string& task,
                                       const std::string& sha256) = 0;
  virtual Answer<Why> why(const Actor& actor, const std::string& task) = 0;
  virtual Answer<TaskView> decide(const Actor& actor, const std::string& task,
                                  const ApprovalRequest& request) = 0;
  // Judges the kept evidence again; the verdict's canonical JSON, and whether it is the same.
  struct Rejudged {
    std::string judgement_json;
    bool same = false;
  };
  virtual Answer<Rejudged> rejudge(const Actor& actor, const std::string& task) = 0;
  // What another policy would have decided on a project's last tasks; for its owners.
  virtual Answer<Backtest> backtest(const Actor& actor, const std::string& project,
                                    const BacktestRequest& request) = 0;

  // The signed statements of a promotion, one envelope a line; not_found: it did not land.
  virtual Answer<std::string> attestations(const Actor& actor, const std::string& task) = 0;
  // The public key of statements and audit log, in PEM; for everybody.
  virtual std::string public_key() = 0;
  // Entries of the audit log after `after`; administrators only, like its signed head.
  virtual Answer<AuditPage> audit(const Actor& actor, std::int64_t after) = 0;
  virtual Answer<std::string> audit_head(const Actor& actor) = 0;

  virtual Readiness readiness() = 0;
  virtual Answer<MachineView> machine(const Actor& actor) = 0;
  // The GPUs of the machine as they are now; empty where there is none.
  virtual Answer<std::vector<sandbox::gpu::GpuStatus>> gpus(const Actor& actor) = 0;
  // Takes a GPU out of service after its present lease (an administrator's), or back into it; a
  // quarantined one gets its burn-in then. What it is afterwards.
  virtual Answer<sandbox::gpu::GpuStatus> cordon_gpu(const Actor& actor, const std::string& uuid,
                                                     bool is_cordoned,
                                                     const std::string& reason) = 0;
};

}  // namespace runner
