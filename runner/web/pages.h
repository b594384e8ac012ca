// Pages: each a function from values to a body. Nothing here asks the service.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runner/service.h"
#include "runner/web/html.h"
#include "tasks/diff_view.h"

namespace runner::web {

// A task with why it waits.
struct QueueRow {
  TaskView task;
  std::optional<Why> why;  // of tasks that go on
};

struct QueueData {
  std::vector<QueueRow> rows;
  TaskFilter filter;
  std::string view;  // "mine to decide" = "decide", "open", "done", "all"
  std::vector<std::string> projects;
  std::string next;  // id that the next page begins after; empty: none
};
Html queue_body(const QueueData& data);

// All that the page of a task shows.
struct TaskData {
  TaskView task;
  std::string target;  // branch of the project
  Why why;
  std::shared_ptr<const JudgedTask> judged;  // nullptr: no evidence yet
  std::optional<tasks::DiffView> diff;
  std::vector<TaskView> patch_sets;  // of the same family and author, oldest first; this one too
  std::vector<EventView> events;
  bool may_decide = false;
  bool may_override = false;  // decides as an owner
  std::string csrf;
  std::string said;  // "approve", "refuse", "override": what the viewer has just done
};
Html task_body(const TaskData& data);

// Parts of it, each in a file of its own.
Html task_header(const TaskData& data);    // title, state, reason, tabs
Html decision_part(const TaskData& data);  // who approved, and the forms
Html gates_part(const TaskData& data);     // gate table, tests, plots
Html files_part(const TaskData& data);     // guarded first
Html runs_part(const TaskData& data);      // steps, resources, logs
Html evidence_part(const TaskData& data);  // artifacts, provenance, receipt, history

enum class DiffForm : std::uint8_t { unified, split };
struct DiffOptions {
  DiffForm form = DiffForm::unified;
  bool hides_space = false;  // lines that differ in white space alone are shown as unchanged
  std::string against;       // task whose diff this one is compared with; empty: none
};
// `earlier`: the view of options.against.
Html diff_body(const TaskData& data, const DiffOptions& options,
               const std::optional<tasks::DiffView>& earlier);

struct LogData {
  TaskView task;
  std::string run;  // step or run id
  std::string text;
  std::int64_t total = 0, omitted = 0;
  std::int64_t head = 0;  // bytes of `text` before what was left out
  bool finished = true;
  std::int64_t from = 1;  // first line shown
  std::string search;
};
Html log_body(const LogData& data);

struct BoardData {
  std::vector<QueueRow> running, waiting, deciding;
  std::optional<MachineView> machine;
  std::vector<sandbox::gpu::GpuStatus> gpus;
  Readiness readiness;
};
Html board_body(const BoardData& data);

Html projects_body(const std::vector<Project>& projects);
struct PromotedTask {
  TaskView task;
  std::shared_ptr<const JudgedTask> judged;  // nullptr: no longer kept
};
struct ProjectData {
  Project project;
  std::string policy;                  // JSON of what will run
  std::vector<PromotedTask> promoted;  // newest first
};
Html project_body(const ProjectData& data);

Html login_body(const std::string& next, const std::string& problem);

}  // namespace runner::web
