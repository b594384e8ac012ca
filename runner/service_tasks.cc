// Tasks: reading, waiting, cancelling, events, and what they wait for.
#include <algorithm>

#include "runner/promotion/approval_rules.h"
#include "runner/scheduler/conclusion.h"
#include "runner/service_core.h"
#include "runner/store/approvals.h"
#include "runner/store/events.h"
#include "runner/store/record_json.h"
#include "runner/store/task_state.h"
#include "runner/store/tasks.h"

namespace runner {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLongestWait{60'000};
constexpr int kEventsAtOnce = 500;
constexpr int kMostListed = 200;
// Rows looked at to fill one page of what the actor may see.
constexpr int kMostPages = 20;

}  // namespace

Answer<TaskView> ServiceCore::task(const Actor& actor, const std::string& id) {
  return view_of(ASK(visible_task(actor, id)));
}

Answer<TaskView> ServiceCore::wait_task(const Actor& actor, const std::string& id,
                                        const std::string& seen, milliseconds wait) {
  const steady_clock::time_point deadline = steady_clock::now() + std::min(wait, kLongestWait);
  while (true) {
    const std::uint64_t version = store_->version();
    const store::TaskRow row = ASK(visible_task(actor, id));
    const bool is_over = etag_of(row) != seen || steady_clock::now() >= deadline;
    if (is_over) return view_of(row);
    if (store_->wait_change(version, deadline) == version) return view_of(row);
  }
}

Answer<std::vector<TaskView>> ServiceCore::list_tasks(const Actor& actor, const TaskFilter& given) {
  TaskFilter filter = given;
  filter.limit = std::clamp(given.limit, 1, kMostListed);
  if (!filter.state.empty() && !store::parse_task_state(filter.state))
    return refuse_field("/state",
                        "a state is queued, running, awaiting_approval, promoting or done");
  std::vector<TaskView> views;
  const int wanted = filter.limit;
  for (int page = 0; page < kMostPages; ++page) {
    const auto rows = ASK(store_->read(
        [&](store::Database& database) { return store::list_tasks(database, filter); }));
    for (const store::TaskRow& row : rows) {
      const bool is_visible =
          may_read_all(actor, row.project) ||
          (may_submit(actor, row.project) && row.principal == actor.principal.name);
      if (is_visible && std::cmp_less(views.size(), wanted)) views.push_back(ASK(view_of(row)));
    }
    if (std::cmp_less(rows.size(), filter.limit) || std::cmp_equal(views.size(), wanted)) break;
    filter.after = rows.back().id;
  }
  return views;
}

Answer<TaskView> ServiceCore::cancel(const Actor& actor, const std::string& id) {
  const store::TaskRow seen = ASK(visible_task(actor, id));
  const bool may_cancel = seen.principal == actor.principal.name ||
                          actor.has(Role::owner, seen.project) ||
                          actor.has(Role::admin, seen.project);
  if (!may_cancel)
    return refuse("forbidden", "only who submitted a task, an owner or an administrator cancels it",
                  "ask " + seen.principal);
  const os::Result<void> done = store_->write([&](store::Database& database) -> os::Result<void> {
    store::TaskRow row = TRY(store::get_task(database, id));
    row.cancel_by = actor.principal.name;
    switch (row.state) {
      case TaskState::queued:
      case TaskState::awaiting_approval:
        conclude_cancelled(row);
        TRY(audit_.append(database, {.type = "task.cancelled",
                                     .actor = actor.principal.name,
                                     .project = row.project,
                                     .subject = row.id,
                                     .data = {}}));
        return store::move_task(database, row, TaskState::done,
                                store::object_json({{"verdict", "cancelled"}}));
      case TaskState::running:
      case TaskState::promoting:  // ended by the promoter, unless its commit is on its way
        return store::save_task(database, row);
      case TaskState::done:
        // Again, or too late: what it ended with stays.
        return {};
    }
    return {};
  });
  ASK(done);
  return task(actor, id);
}

Answer<std::int64_t> ServiceCore::latest_event() {
  return ASK(store_->read([](store::Database& database) { return store::latest_event(database); }));
}

Answer<std::vector<EventView>> ServiceCore::events(const Actor& actor, const std::string& task,
                                                   std::int64_t after, milliseconds wait) {
  const steady_clock::time_point deadline = steady_clock::now() + std::min(wait, kLongestWait);
  if (!task.empty()) ASK(visible_task(actor, task));
  std::int64_t from = after;
  while (true) {
    const std::uint64_t version = store_->version();
    const auto rows = ASK(store_->read([&](store::Database& database) {
      return store::events_after(database, task, from, kEventsAtOnce);
    }));
    std::vector<EventView> visible;
    for (const store::EventRow& row : rows) {
      from = row.id;
      const bool is_visible = !task.empty() || may_read_all(actor, row.project) ||
                              (may_submit(actor, row.project) && visible_task(actor, row.task));
      if (is_visible)
        visible.push_back(EventView{
            .id = row.id, .task = row.task, .type = row.type, .at = row.at, .data = row.data});
    }
    if (!visible.empty()) return visible;
    if (std::cmp_equal(rows.size(), kEventsAtOnce)) continue;
    if (steady_clock::now() >= deadline || store_->wait_change(version, deadline) == version)
      return visible;
  }
}

}  // namespace runner
