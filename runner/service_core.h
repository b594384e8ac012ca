// ServiceCore: the Service over a data directory, an executor and a git client.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/answer.h"
#include "runner/context.h"
#include "runner/promotion/promoter.h"
#include "runner/scheduler/scheduler.h"
#include "runner/service.h"
#include "runner/store/records.h"
#include "runner/task_view.h"
#include "sandbox/os/guarded.h"

namespace runner {

// Who holds the executor, the git client, the database and the threads. Safe from any thread.
class ServiceCore final : public Service {
 public:
  // Makes the data directory where it is missing, opens and migrates the database, and writes
  // `admin.token` (0600) when there is no principal yet. Nothing runs before start().
  static os::Result<std::unique_ptr<ServiceCore>> open(Config config,
                                                       std::unique_ptr<Executor> executor,
                                                       std::unique_ptr<ProjectGit> git);
  ~ServiceCore() override;

  // Takes up what an earlier serve left, then starts scheduler and promotions.
  void start();
  // Refuses new tasks and starts no attempt; what is under way goes on.
  void drain();
  // Ends waits and threads; attempts live on. Idempotent.
  void stop();
  const Config& config() const { return config_; }

  Answer<Actor> authenticate(const std::string& token) override;
  Answer<LoginCode> create_login_code(const Actor& actor) override;
  Answer<OpenedSession> open_session(const std::string& code) override;
  Answer<WebSession> session(const std::string& secret) override;
  Answer<void> close_session(const std::string& secret) override;
  Answer<void> create_principal(const Actor& actor, const Principal& principal) override;
  Answer<void> grant(const Actor& actor, const Grant& grant) override;
  Answer<IssuedToken> create_token(const Actor& actor, const std::string& principal,
                                   std::chrono::seconds lifetime) override;
  Answer<void> revoke_token(const Actor& actor, const std::string& id) override;
  Answer<std::vector<TokenView>> list_tokens(const Actor& actor,
                                             const std::string& principal) override;

  Answer<Project> add_project(const Actor& actor, const ProjectSpec& spec) override;
  Answer<std::vector<Project>> projects(const Actor& actor) override;
  Answer<Project> freeze_project(const Actor& actor, const std::string& project,
                                 const std::string& reason) override;
  Answer<Project> unfreeze_project(const Actor& actor, const std::string& project) override;
  Answer<std::string> policy_view(const Actor& actor, const std::string& project) override;
  Answer<std::string> store_pack(const Actor& actor, const std::string& project,
                                 const std::string& bytes) override;

  Answer<Submitted> submit(const Actor& actor, const Submission& submission,
                           const std::string& key) override;
  Answer<TaskView> task(const Actor& actor, const std::string& id) override;
  Answer<TaskView> wait_task(const Actor& actor, const std::string& id, const std::string& seen,
                             std::chrono::milliseconds wait) override;
  Answer<std::vector<TaskView>> list_tasks(const Actor& actor, const TaskFilter& filter) override;
  Answer<TaskView> cancel(const Actor& actor, const std::string& id) override;
  Answer<std::vector<EventView>> events(const Actor& actor, const std::string& task,
                                        std::int64_t after,
                                        std::chrono::milliseconds wait) override;
  Answer<std::int64_t> latest_event() override;
  Answer<LogChunk> log(const Actor& actor, const std::string& task, const std::string& step,
                       std::int64_t offset, std::int64_t limit) override;
  Answer<std::string> report_json(const Actor& actor, const std::string& task) override;
  Answer<std::string> report_markdown(const Actor& actor, const std::string& task) override;
  Answer<std::string> plot(const Actor& actor, const std::string& task,
                           const std::string& gate) override;
  Answer<std::string> diff(const Actor& actor, const std::string& task) override;
  Answer<tasks::DiffView> diff_view(const Actor& actor, const std::string& task) override;
  Answer<std::shared_ptr<const JudgedTask>> judged(const Actor& actor,
                                                   const std::string& task) override;
  Answer<std::string> artifact(const Actor& actor, const std::string& task,
                               const std::string& sha256) override;
  Answer<Why> why(const Actor& actor, const std::string& task) override;
  Answer<TaskView> decide(const Actor& actor, const std::string& task,
                          const ApprovalRequest& request) override;
  Answer<Rejudged> rejudge(const Actor& actor, const std::string& task) override;
  Answer<Backtest> backtest(const Actor& actor, const std::string& project,
                            const BacktestRequest& request) override;

  Answer<std::string> attestations(const Actor& actor, const std::string& task) override;
  std::string public_key() override;
  Answer<AuditPage> audit(const Actor& actor, std::int64_t after) override;
  Answer<std::string> audit_head(const Actor& actor) override;

  Readiness readiness() override;
  Answer<MachineView> machine(const Actor& actor) override;
  Answer<std::vector<sandbox::gpu::GpuStatus>> gpus(const Actor& actor) override;
  Answer<sandbox::gpu::GpuStatus> cordon_gpu(const Actor& actor, const std::string& uuid,
                                             bool is_cordoned, const std::string& reason) override;

 private:
  struct Flights;
  struct Admission;
  struct Opened {
    Config config;
    std::unique_ptr<Executor> executor;
    std::unique_ptr<ProjectGit> git;
    std::unique_ptr<store::Store> store;
    EvidenceFolder evidence;
    Notary notary;
  };
  explicit ServiceCore(Opened opened);

  struct WrongCodes {
    std::chrono::steady_clock::time_point since;
    int count = 0;
  };
  using JudgedCache = std::map<std::string, std::shared_ptr<const JudgedTask>>;

  os::Result<void> make_first_admin();
  // Counts wrong login codes; true when there were too many lately.
  bool is_guessing(int more);
  // What the actor may see; not_found otherwise.
  Answer<store::ProjectRow> visible_project(const Actor& actor, const std::string& name);
  Answer<store::TaskRow> visible_task(const Actor& actor, const std::string& id);
  Answer<TaskView> view_of(const store::TaskRow& task);
  // Why a running task waits; nothing where none of its steps waits for a GPU.
  Answer<std::optional<Why>> why_gpus(const std::string& task);
  os::Result<TaskView> read_view(store::Database& database, const store::TaskRow& task);
  os::Result<tasks::Evidence> evidence_of(const store::TaskRow& task);
  Answer<Submitted> replay(const store::KeyRow& row, const std::string& body);
  Answer<Submitted> admit(const Admission& admission);
  Answer<void> check_capacity();
  Answer<Ingested> take_in(const Admission& admission, const std::string& task);
  Answer<store::TaskRow> make_task(const Admission& admission, const Ingested& ingested,
                                   const std::string& id);
  // Empty: not frozen.
  Answer<Project> set_frozen(const Actor& actor, const std::string& name, const std::string& why);
  Answer<std::string> policy_of_tip(const store::ProjectRow& project);
  // Newest first.
  Answer<std::vector<store::TaskRow>> judged_tasks(const std::string& project, int limit);
  BacktestRow backtest_task(const store::TaskRow& task, const tasks::Policy& policy);

  Config config_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ProjectGit> git_;
  std::unique_ptr<store::Store> store_;
  EvidenceFolder evidence_;
  TreeFolder trees_;
  Notary notary_;
  AuditLog audit_;
  ServiceContext context_;
  AttemptWatch watch_;
  Ingestor ingestor_;
  std::unique_ptr<Flights> flights_;
  PolicyCache policies_;
  Scheduler scheduler_;
  Promoter promoter_;
  os::Guarded<WrongCodes> wrong_codes_;
  os::Guarded<JudgedCache> judged_;  // by digest of the evidence, with reports
};

// What a role allows on a project; deny by default.
bool may_read_all(const Actor& actor, const std::string& project);
bool may_submit(const Actor& actor, const std::string& project);
bool may_decide(const Actor& actor, const std::string& project);

}  // namespace runner
