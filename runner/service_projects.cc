// Projects: registering them, what their policy says, and packs of objects.
#include <algorithm>

#include "runner/clock.h"
#include "runner/policy_summary.h"
#include "runner/service_core.h"
#include "runner/store/attempts.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"
#include "runner/submission_check.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "sandbox/os/ids.h"
#include "tasks/policy_yaml.h"

namespace runner {
namespace {

constexpr std::string_view kHeads = "refs/heads/";
constexpr std::size_t kPathLimit = 4000;
// Packs of one principal that are kept at a time, each as large as one may be.
constexpr std::int64_t kPacksOfOne = 8;
constexpr std::size_t kFreezeReasonLimit = 1000;

bool is_branch(std::string_view ref) {
  return ref.starts_with(kHeads) && ref.size() > kHeads.size() && ref.size() <= 255 &&
         !ref.contains("..") && !ref.contains("//") && !ref.ends_with("/") &&
         !ref.ends_with(".lock") && ref.find_first_of(" ~^:?*[\\\n\t@{") == ref.npos;
}

bool is_allowed_url(std::string_view url, const std::vector<std::string>& schemes) {
  return url.starts_with("file:///") ||
         std::ranges::any_of(
             schemes, [&](const std::string& scheme) { return url.starts_with(scheme + "://"); });
}

std::string scheme_list(const std::vector<std::string>& schemes) {
  std::string text;
  for (const std::string& scheme : schemes) text += (text.empty() ? "" : ", ") + scheme;
  return text;
}

Answer<void> check_spec(const ProjectSpec& spec, const std::vector<std::string>& schemes) {
  if (!os::is_plain_name(spec.name))
    return refuse_field("/name", "a project has a name of 1 to 64 characters of a-z0-9_-.");
  if (!is_branch(spec.target))
    return refuse_field("/target", "the target is a branch: refs/heads/NAME");
  if (spec.authority == Authority::remote) {
    if (!is_allowed_url(spec.url, schemes) || spec.url.size() > kPathLimit)
      return refuse_field("/url", "a remote project has a file URL, or one of git.schemes (" +
                                      scheme_list(schemes) + ")");
  } else if (!spec.repository.starts_with('/') || spec.repository.size() > kPathLimit) {
    return refuse_field("/repository", "a local project has the absolute path of its repository");
  }
  if (spec.policy_yaml.empty()) return {};
  // The operator's own file, given by an administrator: no hostile bytes.
  const tasks::PolicyReading reading = tasks::read_policy(spec.policy_yaml);
  if (!reading.policy)
    return refuse("policy_invalid", tasks::format_problems(tasks::kPolicyFile, reading.problems),
                  "correct the policy and register the project again");
  return {};
}

}  // namespace

Answer<Project> ServiceCore::add_project(const Actor& actor, const ProjectSpec& given) {
  if (!actor.has(Role::admin, "*"))
    return refuse("forbidden", "only an administrator registers projects", "ask an administrator");
  ProjectSpec spec = given;
  if (spec.target.empty()) spec.target = "refs/heads/main";
  ASK(check_spec(spec, config_.git_schemes));
  store::ProjectRow row;
  row.project.name = spec.name;
  row.project.target = spec.target;
  row.project.authority = spec.authority;
  row.project.url = spec.url;
  row.policy_yaml = spec.policy_yaml;
  row.project.holds_policy = !spec.policy_yaml.empty();
  const bool is_ours = spec.import || spec.authority == Authority::remote;
  row.project.repository =
      is_ours ? config_.data + "/repos/" + spec.name + ".git" : spec.repository;
  const auto known = ASK(store_->read(
      [&](store::Database& database) { return store::find_project(database, spec.name); }));
  if (known)
    return refuse("already_exists", "there is a project '" + spec.name + "' already",
                  "choose another name");
  // Left behind by a registration that did not come to its end: nobody knows it.
  if (is_ours) ASK(os::remove_tree(row.project.repository));
  const os::Result<void> prepared = git_->prepare(row.project, spec);
  if (!prepared) {
    ServiceError error = to_service_error(prepared.error());
    if (prepared.error().code != os::Code::unavailable) error.problem = "invalid_field";
    error.pointer = spec.authority == Authority::remote ? "/url" : "/repository";
    return std::unexpected(error);
  }
  ASK(store_->write([&](store::Database& database) -> os::Result<void> {
    TRY(store::insert_project(database, row, now_text()));
    return audit_.append(
        database, {.type = "project.added",
                   .actor = actor.principal.name,
                   .project = row.project.name,
                   .subject = row.project.name,
                   .data = {{"target", row.project.target},
                            {"held_policy_sha256",
                             row.policy_yaml.empty() ? "" : os::sha256(row.policy_yaml).hex()}}});
  }));
  return row.project;
}

Answer<std::vector<Project>> ServiceCore::projects(const Actor& actor) {
  const auto rows = ASK(store_->read(store::all_projects));
  std::vector<Project> visible;
  for (const store::ProjectRow& row : rows) {
    const std::string& name = row.project.name;
    if (may_read_all(actor, name) || may_submit(actor, name)) visible.push_back(row.project);
  }
  return visible;
}

Answer<Project> ServiceCore::freeze_project(const Actor& actor, const std::string& name,
                                            const std::string& reason) {
  if (reason.empty()) return refuse_field("/reason", "freezing says why: every answer shows it");
  if (reason.size() > kFreezeReasonLimit)
    return refuse_field("/reason", "a reason has at most 1000 bytes");
  return set_frozen(actor, name, reason + " (by " + actor.principal.name + ")");
}

Answer<Project> ServiceCore::unfreeze_project(const Actor& actor, const std::string& name) {
  return set_frozen(actor, name, "");
}

Answer<Project> ServiceCore::set_frozen(const Actor& actor, const std::string& name,
                                        const std::string& why) {
  store::ProjectRow row = ASK(visible_project(actor, name));
  if (!actor.has(Role::owner, name) && !actor.has(Role::admin, name))
    return refuse("forbidden", "only an owner or an administrator freezes " + name,
                  "ask an owner of the project");
  ASK(store_->write([&](store::Database& database) -> os::Result<void> {
    TRY(store::freeze_project(database, name, why));
    return audit_.append(database, {.type = why.empty() ? "project.unfrozen" : "project.frozen",
                                    .actor = actor.principal.name,
                                    .project = name,
                                    .subject = name,
                                    .data = {{"reason", why}, {"before", row.project.frozen}}});
  }));
  row.project.frozen = why;
  return row.project;
}

// The policy of the target's tip as canonical JSON. It is read in a jail, like every policy.
Answer<std::string> ServiceCore::policy_of_tip(const store::ProjectRow& project) {
  const GitTip tip = ASK(git_->tip(project.project));
  IngestOrder order;
  order.task = "t_" + os::make_ulid();
  order.repository = project.project.repository;
  order.intent = tasks::Intent::run;
  order.spec.source = tasks::IngestSpec::Source::commit;
  order.spec.commit = tip.commit;
  order.spec.base = tip.commit;
  order.spec.tip = tip.commit;
  order.policy_yaml = project.policy_yaml;
  const Ingested ingested = ASK(ingestor_.take(order));
  if (ingested.result.refusal) return refused_change(*ingested.result.refusal);
  return ASK(ingested.policy_json());
}

Answer<std::string> ServiceCore::policy_view(const Actor& actor, const std::string& name) {
  const store::ProjectRow project = ASK(visible_project(actor, name));
  const std::string policy = ASK(policy_of_tip(project));
  const auto last = ASK(
      store_->read([&](store::Database& database) -> os::Result<std::vector<store::AttemptRow>> {
        TaskFilter filter;
        filter.project = name;
        filter.state = "done";
        filter.limit = 1;
        const auto tasks = TRY(store::list_tasks(database, filter));
        if (tasks.empty()) return std::vector<store::AttemptRow>{};
        return store::attempts_of(database, tasks.front().id);
      }));
  return ASK(summarise_policy(project.project, policy, last));
}

Answer<std::string> ServiceCore::store_pack(const Actor& actor, const std::string& project,
                                            const std::string& bytes) {
  ASK(visible_project(actor, project));
  if (!may_submit(actor, project))
    return refuse("forbidden", "you may not send objects to " + project,
                  "ask an administrator for the role agent");
  if (bytes.size() > config_.caps.pack.count)
    return refuse("too_large", "a pack has at most " + os::format_bytes(config_.caps.pack),
                  "send fewer objects: only those that the project lacks");
  if (!bytes.starts_with("PACK"))
    return refuse_field("", "the body is no git pack: it does not begin with PACK");
  if (ASK(disk_use_millionths(config_)) > config_.disk_high_water_millionths)
    return refuse_for_now("disk_full", "the disk is fuller than disk.high_water",
                          "ask the operator to make room");
  const auto kept = ASK(store_->read([&](store::Database& database) {
    return store::pack_bytes_of(database, actor.principal.name);
  }));
  if (kept + std::ssize(bytes) > kPacksOfOne * static_cast<std::int64_t>(config_.caps.pack.count))
    return refuse_for_now(
        "disk_full",
        "you have sent packs of " + std::to_string(kept) + " bytes that are still kept",
        "submit them, and send more once they are removed (retention.packs)");
  const store::PackRow row{.id = "p_" + os::make_ulid(),
                           .project = project,
                           .principal = actor.principal.name,
                           .bytes = static_cast<std::int64_t>(bytes.size()),
                           .created_at = now_text()};
  ASK(os::write_file_durably(pack_path(config_, row.id), bytes, 0600));
  ASK(store_->write([&](store::Database& database) { return store::insert_pack(database, row); }));
  return row.id;
}

}  // namespace runner
