#include "runner/scheduler/retention.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <set>

#include "runner/clock.h"
#include "runner/log.h"
#include "runner/scheduler/conclusion.h"
#include "runner/store/attempts.h"
#include "runner/store/events.h"
#include "runner/store/evidence_refs.h"
#include "runner/store/projects.h"
#include "runner/store/tasks.h"
#include "sandbox/os/files.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Tasks whose evidence goes in one sweep: a sweep must not hold the scheduler for long.
constexpr int kTasksPerSweep = 50;
constexpr milliseconds kTreesBudget{2000};
// Longer than any change takes from its quarantine to its row.
constexpr std::chrono::hours kQuarantineAge{1};

// By when it was last changed in any way: what a jail keeps has times that the change chose.
bool is_older(const std::string& path, milliseconds age) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  return info.st_ctim.tv_sec + limit < std::time(nullptr);
}

using IsNamed = std::function<os::Result<bool>(store::Database& database, const std::string& name)>;

// Removes what lies in a folder of the data directory, was not touched for `age` (0: at whatever
// time), and has no row in the database that keeps it. Rows are written after files.
os::Result<void> remove_unless(const ServiceContext& context, const std::string& folder,
                               milliseconds age, const IsNamed& is_named) {
  const std::string root = context.config.data + "/" + folder;
  for (const std::string& name : TRY(os::list_directory(root))) {
    const std::string path = root + "/" + name;
    if (age.count() > 0 && !is_older(path, age)) continue;
    const bool is_kept = TRY(
        context.store.read([&](store::Database& database) { return is_named(database, name); }));
    if (!is_kept) TRY(os::remove_tree(path));
  }
  return {};
}

}  // namespace

void RetentionSweep::run_if_due() {
  const steady_clock::time_point now = steady_clock::now();
  if (last_ != steady_clock::time_point{} && now - last_ < kEvery) return;
  last_ = now;
  run();
}

void RetentionSweep::run() {
  const auto attempt = [](std::string_view what, const os::Result<void>& done) {
    if (!done)
      log_line(LogLevel::warn, "retention", {{"of", what}, {"error", done.error().message}});
  };
  attempt("keys", context_.store.write([](store::Database& database) {
    return store::delete_keys_before(database, now_text());
  }));
  attempt("approvals", expire_waits());
  attempt("packs", remove_packs());
  attempt("quarantine", sweep_quarantine(context_, kQuarantineAge));
  attempt("attempts", remove_attempts());
  attempt("evidence", remove_evidence());
  attempt("bases", remove_bases());
  attempt("trees", remove_trees());
  attempt("unnamed files", remove_unnamed());
  attempt("events", context_.store.write([this](store::Database& database) {
    return store::delete_events_before(database,
                                       time_text_after(-context_.config.retention.events));
  }));
}

os::Result<void> RetentionSweep::expire_waits() {
  const std::string before = time_text_after(-context_.config.retention.approvals);
  return context_.store.write([&](store::Database& database) -> os::Result<void> {
    for (store::TaskRow& task :
         TRY(store::tasks_in_state(database, TaskState::awaiting_approval))) {
      if (task.updated_at >= before) continue;
      conclude_review(task, "expired", "nobody decided in time",
                      "submit the change again and ask for a review");
      TRY(context_.audit.append(database, {.type = "approval.expired",
                                           .actor = "serve",
                                           .project = task.project,
                                           .subject = task.id,
                                           .data = {}}));
      TRY(store::move_task(database, task, TaskState::done));
    }
    return {};
  });
}

os::Result<void> RetentionSweep::remove_packs() {
  const std::string before = time_text_after(-context_.config.retention.packs);
  const auto packs = TRY(context_.store.read(
      [&](store::Database& database) { return store::packs_before(database, before); }));
  for (const store::PackRow& pack : packs) {
    TRY(context_.store.write(
        [&](store::Database& database) { return store::delete_pack(database, pack.id); }));
    TRY(os::remove_tree(pack_path(context_.config, pack.id)));
  }
  return {};
}

os::Result<void> RetentionSweep::remove_attempts() {
  const std::string root = context_.config.data + "/attempts";
  for (const std::string& attempt : TRY(os::list_directory(root))) {
    const os::Result<std::vector<std::string>> fences = os::list_directory(root + "/" + attempt);
    if (!fences) continue;
    for (const std::string& name : *fences) {
      const std::string path = root + "/" + attempt + "/" + name;
      if (!is_older(path, context_.config.retention.attempts)) continue;
      const std::int64_t fence = std::strtoll(name.c_str(), nullptr, 10);
      const auto row = TRY(context_.store.read([&](store::Database& database) {
        return store::find_attempt(database, attempt, fence);
      }));
      if (row && row->is_active()) continue;
      // One that cannot go (now) keeps no other.
      if (const auto gone = context_.executor.remove(tasks::AttemptId(attempt), fence); !gone)
        log_line(LogLevel::warn, "attempt not removed",
                 {{"attempt", attempt}, {"error", gone.error().message}});
    }
    ::rmdir((root + "/" + attempt).c_str());
  }
  return {};
}

os::Result<void> RetentionSweep::remove_orphans(const std::string& owner) {
  std::vector<std::string> orphans;
  TRY(context_.store.write([&](store::Database& database) -> os::Result<void> {
    orphans = TRY(store::drop_refs(database, owner));
    return {};
  }));
  for (const std::string& blob : orphans) TRY(context_.evidence.remove(blob));
  return {};
}

os::Result<void> RetentionSweep::remove_evidence() {
  const std::string before = time_text_after(-context_.config.retention.evidence);
  const auto tasks = TRY(context_.store.read([&](store::Database& database) {
    return store::tasks_done_before(database, before, kTasksPerSweep);
  }));
  for (const store::TaskRow& task : tasks) {
    TRY(remove_orphans(task.id));
    TRY(os::remove_tree(quarantine_path(context_.config, task.id)));
  }
  return {};
}

os::Result<void> RetentionSweep::remove_bases() {
  const std::string before = time_text_after(-context_.config.retention.bases);
  const auto keys = TRY(context_.store.read(
      [&](store::Database& database) { return store::bases_before(database, before); }));
  for (const std::string& key : keys) {
    TRY(context_.store.write(
        [&](store::Database& database) { return store::delete_base(database, key); }));
    TRY(remove_orphans("base/" + key));
    TRY(os::remove_tree(layer_path(context_.config, key)));
  }
  return {};
}

os::Result<void> RetentionSweep::remove_trees() {
  const auto live = TRY(
      context_.store.read([](store::Database& database) { return store::live_tasks(database); }));
  std::set<std::string> needed;
  for (const store::TaskRow& task : live)
    for (const tasks::TreeId& tree : tasks::trees_of(task.change)) needed.insert(tree.hex());
  return context_.trees.remove_unused(context_.config.retention.trees, needed, kTreesBudget);
}

os::Result<void> RetentionSweep::remove_unnamed() {
  const milliseconds age = context_.config.retention.attempts;
  const auto is_pack = [](store::Database& database, const std::string& name) -> os::Result<bool> {
    return TRY(store::find_pack(database, name.substr(0, name.find('.')))).has_value();
  };
  const auto is_base = [](store::Database& database, const std::string& name) -> os::Result<bool> {
    return TRY(store::find_base(database, name)).has_value();
  };
  TRY(remove_unless(context_, "packs", age, is_pack));
  return remove_unless(context_, "layers", age, is_base);
}

os::Result<void> sweep_quarantine(const ServiceContext& context, milliseconds age) {
  return remove_unless(context, "quarantine", age, store::is_task_live);
}

}  // namespace runner
