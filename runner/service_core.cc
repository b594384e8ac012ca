#include "runner/service_core.h"

#include "runner/clock.h"
#include "runner/limits.h"
#include "runner/log.h"
#include "runner/service_flights.h"
#include "runner/store/people.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"
#include "runner/tokens.h"
#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"

namespace runner {
namespace {

constexpr std::chrono::hours kAdminToken{24 * 365 * 10};

}  // namespace

os::Result<std::unique_ptr<ServiceCore>> ServiceCore::open(Config config,
                                                           std::unique_ptr<Executor> executor,
                                                           std::unique_ptr<ProjectGit> git) {
  TRY_CONTEXT(make_data_directory(config), "data directory");
  auto database = TRY(store::Store::open(config.data + "/proofhouse.db"));
  EvidenceFolder evidence = TRY(EvidenceFolder::open(config.data + "/evidence"));
  Notary notary =
      TRY_CONTEXT(Notary::open(config.data + "/keys", instance_of(config)), "signing key");
  std::unique_ptr<ServiceCore> core(new ServiceCore(Opened{.config = std::move(config),
                                                           .executor = std::move(executor),
                                                           .git = std::move(git),
                                                           .store = std::move(database),
                                                           .evidence = std::move(evidence),
                                                           .notary = std::move(notary)}));
  TRY(core->make_first_admin());
  return core;
}

ServiceCore::ServiceCore(Opened opened)
    : config_(std::move(opened.config)),
      executor_(std::move(opened.executor)),
      git_(std::move(opened.git)),
      store_(std::move(opened.store)),
      evidence_(std::move(opened.evidence)),
      trees_(config_.data + "/trees"),
      notary_(std::move(opened.notary)),
      audit_(notary_),
      context_{.config = config_,
               .instance = instance_of(config_),
               .store = *store_,
               .evidence = evidence_,
               .trees = trees_,
               .executor = *executor_,
               .git = *git_,
               .notary = notary_,
               .audit = audit_},
      watch_(*executor_, [this] { store_->wake_waits(); }),
      ingestor_(context_, watch_),
      flights_(std::make_unique<Flights>()),
      policies_(evidence_),
      scheduler_(context_, watch_, ingestor_),
      promoter_(context_, ingestor_, scheduler_) {}

ServiceCore::~ServiceCore() { stop(); }

void ServiceCore::start() {
  scheduler_.start();
  promoter_.start();
  log_line(LogLevel::info, "started",
           {{"data", config_.data}, {"instance", context_.instance}, {"listen", config_.listen}});
}

void ServiceCore::drain() { scheduler_.drain(); }

void ServiceCore::stop() {
  store_->stop_waits();
  promoter_.stop();
  scheduler_.stop();
}

os::Result<void> ServiceCore::make_first_admin() {
  const auto known = TRY(store_->read(
      [](store::Database& database) { return store::find_principal(database, "admin"); }));
  if (known) return {};
  const NewToken token = make_token("admin", kAdminToken);
  // The file first: a token that the database does not know is worthless, and is made anew at the
  // next start; one that nobody has would lock everybody out.
  TRY(os::write_file_durably(config_.data + "/admin.token", token.secret + "\n", 0600));
  os::failpoint("admin-token-written");
  return store_->write([&](store::Database& database) -> os::Result<void> {
    TRY(store::insert_principal(database, {.name = "admin", .owner = {}}, now_text()));
    TRY(store::insert_grant(database, {.principal = "admin", .project = "*", .role = Role::admin}));
    TRY(store::insert_token(database, token.row));
    return audit_.append(database, {.type = "log.begun",
                                    .actor = "serve",
                                    .project = {},
                                    .subject = token.row.id,
                                    .data = {{"key", notary_.key().public_key().id()}}});
  });
}

Answer<store::ProjectRow> ServiceCore::visible_project(const Actor& actor,
                                                       const std::string& name) {
  const auto row = ASK(
      store_->read([&](store::Database& database) { return store::find_project(database, name); }));
  const bool is_visible = row && (may_read_all(actor, name) || may_submit(actor, name));
  if (!is_visible)
    return refuse("not_found", "there is no project '" + name + "' that you may see",
                  "list the projects, or ask an administrator for a grant");
  return *row;
}

Answer<store::TaskRow> ServiceCore::visible_task(const Actor& actor, const std::string& id) {
  const os::Result<store::TaskRow> row =
      store_->read([&](store::Database& database) { return store::get_task(database, id); });
  if (!row && row.error().code != os::Code::not_found)
    return std::unexpected(to_service_error(row.error()));
  const bool is_visible =
      row && (may_read_all(actor, row->project) ||
              (may_submit(actor, row->project) && row->principal == actor.principal.name));
  if (!is_visible)
    return refuse("not_found", "there is no task '" + id + "' that you may see", "list your tasks");
  return *row;
}

os::Result<TaskView> ServiceCore::read_view(store::Database& database, const store::TaskRow& task) {
  const os::Result<tasks::Policy> policy = policies_.get(task.policy_sha256);
  return make_task_view(database, task, policy ? &*policy : nullptr);
}

Answer<TaskView> ServiceCore::view_of(const store::TaskRow& task) {
  return ASK(store_->read([&](store::Database& database) { return read_view(database, task); }));
}

os::Result<tasks::Evidence> ServiceCore::evidence_of(const store::TaskRow& task) {
  if (task.evidence_sha256.empty())
    return os::fail(os::Code::not_found, "task " + task.id + " has no evidence yet");
  return tasks::evidence_from_json(TRY(evidence_.get(task.evidence_sha256, kAttemptResultLimit)));
}

bool may_read_all(const Actor& actor, const std::string& project) {
  return actor.has(Role::ci, project) || actor.has(Role::reviewer, project) ||
         actor.has(Role::owner, project) || actor.has(Role::admin, project);
}

bool may_submit(const Actor& actor, const std::string& project) {
  return actor.has(Role::agent, project) || actor.has(Role::ci, project) ||
         actor.has(Role::owner, project);
}

bool may_decide(const Actor& actor, const std::string& project) {
  return actor.has(Role::reviewer, project) || actor.has(Role::owner, project);
}

}  // namespace runner
