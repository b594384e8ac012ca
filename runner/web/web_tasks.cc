// Pages of tasks: what they ask of the service, and the decision that they send.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "runner/answer.h"
#include "runner/web/form.h"
#include "runner/web/web.h"
#include "runner/wire.h"

namespace runner::web {
namespace {

constexpr int kPageRows = 50;
constexpr int kMostPatchSets = 50;
constexpr int kShownPromotions = 30;
constexpr std::int64_t kLogPiece = 4 << 20;
constexpr int kMostPieces = 8;

std::int64_t number(const std::string& text, std::int64_t otherwise) {
  std::int64_t value = otherwise;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
}

bool decides(const Actor& actor, const TaskView& task) {
  const bool has_role =
      actor.has(Role::reviewer, task.project) || actor.has(Role::owner, task.project);
  return has_role && !actor.has(Role::admin, task.project);
}

// Bytes that somebody else wrote: saved, never rendered here.
HttpResponse download(std::string bytes, const std::string& name) {
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = std::move(bytes);
  response.headers = {{"Content-Disposition", "attachment; filename=\"" + name + "\""},
                      {"Content-Security-Policy", "default-src 'none'; sandbox"},
                      {"Cross-Origin-Resource-Policy", "same-origin"}};
  return response;
}

// The whole of a log that is kept: its head, and behind what was left out its tail.
Answer<LogData> whole_log(Service& service, const Actor& actor, const std::string& task,
                          const std::string& run) {
  LogData data;
  std::int64_t at = 0;
  for (int piece = 0; piece < kMostPieces; ++piece) {
    const LogChunk chunk = ASK(service.log(actor, task, run, at, kLogPiece));
    if (chunk.offset > at) data.head = static_cast<std::int64_t>(data.text.size());
    data.text += chunk.bytes;
    data.total = chunk.total;
    data.omitted = chunk.omitted;
    data.finished = chunk.finished;
    at = chunk.offset + static_cast<std::int64_t>(chunk.bytes.size());
    if (chunk.bytes.empty() || at >= chunk.total) break;
  }
  return data;
}

}  // namespace

QueueRow Web::row_of(const Actor& actor, TaskView task) {
  QueueRow row{.task = std::move(task), .why = std::nullopt};
  if (row.task.state == TaskState::done) return row;
  if (auto why = service_.why(actor, row.task.id)) row.why = std::move(*why);
  return row;
}

std::vector<QueueRow> Web::rows_of(const Actor& actor, const TaskFilter& filter) {
  std::vector<QueueRow> rows;
  auto tasks = service_.list_tasks(actor, filter);
  if (!tasks) return rows;
  for (TaskView& task : *tasks) rows.push_back(row_of(actor, std::move(task)));
  return rows;
}

HttpResponse Web::queue(const Visit& visit) {
  QueueData data;
  data.view = visit.request.query_value("view");
  if (data.view != "open" && data.view != "done" && data.view != "all") data.view = "decide";
  data.filter.project = visit.request.query_value("project");
  data.filter.principal = visit.request.query_value("author");
  data.filter.after = visit.request.query_value("after");
  data.filter.limit = kPageRows;
  const auto add = [&](TaskState state) {
    TaskFilter filter = data.filter;
    filter.state = task_state_name(state);
    for (QueueRow& row : rows_of(visit.actor(), filter)) data.rows.push_back(std::move(row));
  };
  if (data.view == "decide") {
    add(TaskState::awaiting_approval);
    std::erase_if(data.rows,
                  [&](const QueueRow& row) { return !decides(visit.actor(), row.task); });
  } else if (data.view == "open") {
    for (const TaskState state : {TaskState::awaiting_approval, TaskState::promoting,
                                  TaskState::running, TaskState::queued})
      add(state);
  } else {
    if (data.view == "done") data.filter.state = task_state_name(TaskState::done);
    data.rows = rows_of(visit.actor(), data.filter);
    if (std::cmp_equal(data.rows.size(), kPageRows)) data.next = data.rows.back().task.id;
  }
  if (const auto projects = service_.projects(visit.actor()))
    for (const Project& project : *projects) data.projects.push_back(project.name);
  Frame frame;
  frame.title = "Queue";
  frame.place = "queue";
  frame.live = "/live";
  frame.body = queue_body(data);
  return show(visit, std::move(frame));
}

HttpResponse Web::board(const Visit& visit) {
  BoardData data;
  const auto rows = [&](TaskState state) {
    TaskFilter filter;
    filter.state = task_state_name(state);
    return rows_of(visit.actor(), filter);
  };
  data.running = rows(TaskState::running);
  for (QueueRow& row : rows(TaskState::promoting)) data.running.push_back(std::move(row));
  data.waiting = rows(TaskState::queued);
  data.deciding = rows(TaskState::awaiting_approval);
  if (auto machine = service_.machine(visit.actor())) data.machine = std::move(*machine);
  if (auto gpus = service_.gpus(visit.actor())) data.gpus = std::move(*gpus);
  data.readiness = service_.readiness();
  Frame frame;
  frame.title = "Board";
  frame.place = "board";
  frame.live = "/live";
  frame.body = board_body(data);
  return show(visit, std::move(frame));
}

HttpResponse Web::projects(const Visit& visit) {
  const auto projects = service_.projects(visit.actor());
  if (!projects) return fail(visit, projects.error());
  Frame frame;
  frame.title = "Projects";
  frame.place = "projects";
  frame.body = projects_body(*projects);
  return show(visit, std::move(frame));
}

HttpResponse Web::project(const Visit& visit) {
  const auto projects = service_.projects(visit.actor());
  if (!projects) return fail(visit, projects.error());
  const auto found = std::ranges::find(*projects, visit.id(), &Project::name);
  if (found == projects->end())
    return fail(visit, refuse("not_found", "there is no such project that you may see").error());
  ProjectData data{.project = *found, .policy = {}, .promoted = {}};
  if (auto policy = service_.policy_view(visit.actor(), found->name))
    data.policy = std::move(*policy);
  TaskFilter filter;
  filter.project = found->name;
  filter.state = task_state_name(TaskState::done);
  filter.limit = 200;
  if (auto tasks = service_.list_tasks(visit.actor(), filter))
    for (TaskView& task : *tasks) {
      if (!task.promotion || data.promoted.size() >= kShownPromotions) continue;
      auto judged = service_.judged(visit.actor(), task.id);
      data.promoted.push_back(
          {.task = std::move(task), .judged = judged ? std::move(*judged) : nullptr});
    }
  Frame frame;
  frame.title = found->name;
  frame.place = "projects";
  frame.body = project_body(data);
  return show(visit, std::move(frame));
}

Answer<TaskData> Web::task_data(const Visit& visit) {
  TaskData data;
  data.task = ASK(service_.task(visit.actor(), visit.id()));
  data.why = ASK(service_.why(visit.actor(), visit.id()));
  if (const auto projects = service_.projects(visit.actor()))
    for (const Project& project : *projects)
      if (project.name == data.task.project) data.target = project.target;
  if (auto diff = service_.diff_view(visit.actor(), visit.id())) data.diff = std::move(*diff);
  data.may_decide = decides(visit.actor(), data.task);
  data.may_override = data.may_decide && visit.actor().has(Role::owner, data.task.project);
  data.csrf = visit.session.csrf;
  return data;
}

HttpResponse Web::task(const Visit& visit) {
  auto data = task_data(visit);
  if (!data) return fail(visit, data.error());
  if (auto judged = service_.judged(visit.actor(), visit.id())) data->judged = std::move(*judged);
  if (auto events = service_.events(visit.actor(), visit.id(), 0, std::chrono::milliseconds(0)))
    data->events = std::move(*events);
  if (!data->task.family.empty()) {
    TaskFilter filter;
    filter.project = data->task.project;
    filter.principal = data->task.principal;
    filter.limit = 200;
    if (auto tasks = service_.list_tasks(visit.actor(), filter))
      for (TaskView& task : *tasks)
        if (task.family == data->task.family && data->patch_sets.size() < kMostPatchSets)
          data->patch_sets.push_back(std::move(task));
    std::ranges::reverse(data->patch_sets);
  }
  data->said = visit.request.query_value("said");
  Frame frame;
  frame.title = data->task.title.empty() ? data->task.id : data->task.title;
  frame.place = "queue";
  if (data->task.state != TaskState::done) frame.live = "/tasks/" + data->task.id + "/live";
  frame.body = task_body(*data);
  return show(visit, std::move(frame));
}

HttpResponse Web::diff(const Visit& visit) {
  auto data = task_data(visit);
  if (!data) return fail(visit, data.error());
  DiffOptions options;
  if (visit.request.query_value("view") == "split") options.form = DiffForm::split;
  options.hides_space = visit.request.query_value("space") == "hide";
  options.against = visit.request.query_value("against");
  std::optional<tasks::DiffView> earlier;
  if (!options.against.empty()) {
    const auto other = service_.task(visit.actor(), options.against);
    if (!other) return fail(visit, other.error());
    options.against = other->id;
    if (auto view = service_.diff_view(visit.actor(), other->id)) earlier = std::move(*view);
  }
  Frame frame;
  frame.title = "Diff of " + (data->task.title.empty() ? data->task.id : data->task.title);
  frame.place = "queue";
  frame.body = diff_body(*data, options, earlier);
  return show(visit, std::move(frame));
}

HttpResponse Web::patch(const Visit& visit) {
  auto patch = service_.diff(visit.actor(), visit.id());
  if (!patch) return fail(visit, patch.error());
  return download(std::move(*patch), visit.id() + ".patch");
}

HttpResponse Web::report(const Visit& visit) {
  auto report = service_.report_json(visit.actor(), visit.id());
  if (!report) return fail(visit, report.error());
  return download(std::move(*report), visit.id() + ".json");
}

HttpResponse Web::artifact(const Visit& visit) {
  const std::string name = visit.request.parameter("name");
  auto bytes = service_.artifact(visit.actor(), visit.id(), name);
  if (!bytes) return fail(visit, bytes.error());
  return download(std::move(*bytes), name + ".bin");
}

HttpResponse Web::log(const Visit& visit) {
  const std::string run = visit.request.parameter("run");
  auto task = service_.task(visit.actor(), visit.id());
  if (!task) return fail(visit, task.error());
  auto data = whole_log(service_, visit.actor(), visit.id(), run);
  if (!data) return fail(visit, data.error());
  data->task = std::move(*task);
  data->run = run;
  data->from = number(visit.request.query_value("from"), 1);
  data->search = visit.request.query_value("q");
  Frame frame;
  frame.title = "Log of " + run;
  frame.place = "queue";
  if (!data->finished) frame.live = "/tasks/" + data->task.id + "/live";
  frame.body = log_body(*data);
  return show(visit, std::move(frame));
}

HttpResponse Web::decide(const Visit& visit) {
  const Form form = Form::parse(visit.request.body);
  const std::string decision = form.get("decision");
  if (decision != "approve" && decision != "refuse" && decision != "override")
    return fail(visit,
                refuse_field("/decision", "a decision is approve, refuse or override").error());
  ApprovalRequest request;
  request.decision = decision == "refuse" ? Decision::refuse : Decision::approve;
  request.if_match = form.get("etag");
  request.commit = form.get("commit");
  request.diff_digest = form.get("diff_digest");
  request.gates = form.all("gate");
  request.reason = form.get("reason");
  if (decision == "override") {
    request.overrides = form.all("override");
    // It would be a plain approval.
    if (request.overrides.empty())
      return fail(visit, refuse_field("/overrides", "an override names its gates").error());
  }
  // The page sends all three; who leaves one out has not seen what is decided.
  if (request.if_match.empty() || request.commit.empty() || request.diff_digest.empty())
    return fail(visit, refuse("if_match_missing", "the form lacks what the decision is about",
                              "open the task's page and send its form")
                           .error());
  const auto decided = service_.decide(visit.actor(), visit.id(), request);
  if (!decided) return fail(visit, decided.error());
  HttpResponse response;
  response.status = 303;
  response.headers["Location"] = "/tasks/" + decided->id + "?said=" + decision;
  return response;
}

}  // namespace runner::web
