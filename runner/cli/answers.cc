#include "runner/cli/answers.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace runner::cli {
namespace {

using nlohmann::json;

// An object of the server's, read by name; what is absent or null is empty.
class View {
 public:
  explicit View(const json& value) : value_(value) {}

  View at(const char* name) const {
    static const json kNothing;
    if (!value_.is_object()) return View(kNothing);
    const auto found = value_.find(name);
    return View(found == value_.end() ? kNothing : *found);
  }
  std::string text() const {
    return value_.is_string() ? value_.get<std::string>() : std::string();
  }
  std::string text(const char* name) const { return at(name).text(); }
  std::int64_t number(const char* name) const {
    const json& member = at(name).value_;
    return member.is_number_integer() ? member.get<std::int64_t>() : 0;
  }
  bool flag(const char* name) const {
    const json& member = at(name).value_;
    return member.is_boolean() && member.get<bool>();
  }
  std::vector<View> list(const char* name) const {
    std::vector<View> views;
    const json& member = at(name).value_;
    if (member.is_array())
      for (const json& each : member) views.emplace_back(each);
    return views;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> all;
    for (const View& each : list(name)) all.push_back(each.text());
    return all;
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> names;
    if (value_.is_object())
      for (const auto& [name, value] : value_.items()) names.push_back(name);
    return names;
  }

 private:
  const json& value_;
};

os::Result<json> parse_object(std::string_view text) {
  // A report may be nested deeper than anything that the server takes in.
  os::Result<json> parsed = sandbox::parse_json(text, 32);
  if (!parsed || !parsed->is_object())
    return os::fail(os::Code::corrupt, "the server's answer is no JSON object");
  return parsed;
}

GateAnswer gate_of(const View& view) {
  GateAnswer gate{.name = view.text("name"),
                  .kind = view.text("kind"),
                  .status = view.text("status"),
                  .assurance = view.text("assurance"),
                  .summary = view.text("summary"),
                  .reasons = {}};
  for (const View& reason : view.list("reasons")) gate.reasons.push_back(reason.text("text"));
  return gate;
}

TaskAnswer task_of(const View& view) {
  TaskAnswer task;
  task.id = view.text("id");
  task.project = view.text("project");
  task.title = view.text("title");
  task.intent = view.text("intent");
  task.principal = view.text("principal");
  task.created_at = view.text("created_at");
  task.end = {view.text("state"), view.text("verdict"), view.text("failure_class")};
  task.assurance = view.text("assurance");
  task.level = view.text("sandbox_level");
  task.reason = view.at("reason").text("text");
  task.next_step = view.at("reason").text("next_step");
  task.guarded = view.texts("guarded");
  task.base = view.at("base").text("commit");
  task.candidate = view.at("candidate").text("commit");
  task.diff_digest = view.text("diff_digest");
  for (const View& gate : view.list("gates")) task.gates.push_back(gate_of(gate));
  const View approvals = view.at("approvals");
  task.approvals_needed = approvals.number("needed");
  task.owners_needed = approvals.number("owners_needed");
  task.approvals_valid = approvals.number("valid");
  for (const View& given : approvals.list("given"))
    task.approvals.push_back({given.text("by"), given.text("decision"), given.text("reason"),
                              given.text("void_reason")});
  task.asks = view.texts("asks");
  task.promoted_to = view.at("promotion").text("new");
  task.promoted_target = view.at("promotion").text("target");
  task.steps = view.at("links").at("logs").keys();
  task.etag = view.text("etag");
  return task;
}

ProjectAnswer project_of(const View& view) {
  return {.name = view.text("name"),
          .repository = view.text("repository"),
          .url = view.text("url"),
          .target = view.text("target"),
          .authority = view.text("authority"),
          .frozen = view.text("frozen"),
          .holds_policy = view.flag("holds_policy")};
}

void set_text(json& object, const char* name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}

void set_list(json& object, const char* name, const std::vector<std::string>& values) {
  if (!values.empty()) object[name] = values;
}

}  // namespace

Problem read_problem(std::string_view text) {
  Problem problem;
  const os::Result<json> object = parse_object(text);
  if (!object) return problem;
  const View view(*object);
  problem.code = view.text("code");
  problem.detail = view.text("detail");
  problem.next_step = view.text("next_step");
  for (const View& field : view.list("errors"))
    problem.fields.emplace_back(field.text("pointer"), field.text("detail"));
  for (const char* name : {"path", "line", "hunk", "nearest"})
    if (std::string value = view.text(name); !value.empty())
      problem.extra.emplace_back(name, std::move(value));
  return problem;
}

os::Result<TaskAnswer> read_task(std::string_view text) {
  const json object = TRY(parse_object(text));
  TaskAnswer task = task_of(View(object));
  if (task.id.empty()) return os::fail(os::Code::corrupt, "the server's answer is no task");
  return task;
}

os::Result<TaskList> read_tasks(std::string_view text) {
  const json object = TRY(parse_object(text));
  TaskList list;
  for (const View& view : View(object).list("tasks")) list.tasks.push_back(task_of(view));
  list.next = View(object).text("next");
  return list;
}

os::Result<WhyAnswer> read_why(std::string_view text) {
  const json object = TRY(parse_object(text));
  const View view(object);
  return WhyAnswer{view.text("state"), view.text("text"), view.text("next_step")};
}

os::Result<ProjectAnswer> read_project(std::string_view text) {
  const json object = TRY(parse_object(text));
  return project_of(View(object));
}

os::Result<std::vector<ProjectAnswer>> read_projects(std::string_view text) {
  const json object = TRY(parse_object(text));
  std::vector<ProjectAnswer> projects;
  for (const View& view : View(object).list("projects")) projects.push_back(project_of(view));
  return projects;
}

os::Result<std::vector<GpuAnswer>> read_gpus(std::string_view text) {
  const json object = TRY(parse_object(text));
  std::vector<GpuAnswer> gpus;
  for (const View& view : View(object).list("gpus"))
    gpus.push_back({.uuid = view.text("uuid"),
                    .name = view.text("name"),
                    .state = view.text("state"),
                    .reason = view.text("reason"),
                    .owner = view.text("owner"),
                    .memory = view.number("memory"),
                    .uses = view.number("uses"),
                    .is_cordoned = view.flag("cordoned")});
  return gpus;
}

os::Result<std::vector<MachineAnswer>> read_machines(std::string_view text) {
  const json object = TRY(parse_object(text));
  std::vector<MachineAnswer> machines;
  for (const View& view : View(object).list("machines"))
    machines.push_back({.host = view.text("host"),
                        .level = view.text("level"),
                        .cpus = view.number("cpus"),
                        .cpus_free = view.number("cpus_free"),
                        .memory = view.number("memory"),
                        .memory_free = view.number("memory_free"),
                        .queued = view.number("queued"),
                        .running = view.number("running")});
  return machines;
}

os::Result<ReadyAnswer> read_ready(std::string_view text) {
  const json object = TRY(parse_object(text));
  return ReadyAnswer{View(object).flag("ready"), View(object).texts("problems")};
}

os::Result<std::vector<std::string>> read_texts(std::string_view text,
                                                const std::vector<std::string>& names) {
  const json object = TRY(parse_object(text));
  std::vector<std::string> values;
  for (const std::string& name : names) values.push_back(View(object).text(name.c_str()));
  return values;
}

os::Result<bool> read_flag(std::string_view text, const std::string& name) {
  const json object = TRY(parse_object(text));
  const auto found = object.find(name);
  if (found == object.end() || !found->is_boolean())
    return os::fail(os::Code::corrupt, "the server's answer lacks " + name);
  return found->get<bool>();
}

std::string status_json(std::string_view ready, std::string_view machines) {
  json status = json::object();
  for (const std::string_view text : {ready, machines})
    if (const os::Result<json> object = parse_object(text)) status.update(*object);
  return sandbox::dump_json(status);
}

std::string pretty(std::string_view text) {
  const os::Result<json> object = sandbox::parse_json(text, 32);
  if (!object) return std::string(text);
  return object->dump(2, ' ', false, json::error_handler_t::replace);
}

std::string describe_event(std::string_view type, std::string_view data) {
  const os::Result<json> object = sandbox::parse_json(data, 32);
  // The stream wraps an event's members in "data", and so does an attempt that tells them.
  static const json kNothing = json::object();
  const json* inner = object ? &*object : &kNothing;
  while (inner->is_object() && inner->contains("data")) inner = &inner->at("data");
  const View view(*inner);
  std::string text(type);
  for (const char* name : {"side", "step", "pair", "outcome", "name", "gate", "status"})
    if (const std::string value = view.text(name); !value.empty()) text += " " + value;
  return text;
}

std::string submission_body(const SubmitCommand& command, const std::string& patch,
                            const std::string& commit, const std::string& pack) {
  json body{
      {"project", command.project}, {"intent", command.intent}, {"priority", command.priority}};
  set_text(body, "base", command.base);
  set_text(body, "title", command.title);
  set_text(body, "family", command.family);
  set_list(body, "steps", command.steps);
  json change = json::object();
  set_text(change, "patch", patch);
  set_text(change, "commit", commit);
  set_text(change, "pack", pack);
  if (!change.empty()) body["change"] = std::move(change);
  json claims = json::object();
  set_text(claims, "text", command.claim_text);
  set_list(claims, "fixes", command.fixes);
  set_list(claims, "removes", command.removes);
  for (const std::string& claim : command.faster) {
    const std::size_t at = claim.rfind('=');
    claims["faster"][claim.substr(0, at)] = at == std::string::npos ? "" : claim.substr(at + 1);
  }
  if (!claims.empty()) body["claims"] = std::move(claims);
  return sandbox::dump_json(body);
}

std::string decision_body(const DecideCommand& command, const TaskAnswer& task) {
  json body{{"decision", command.abstains   ? "abstain"
                         : command.approves ? "approve"
                                            : "refuse"},
            {"commit", task.candidate}};
  set_text(body, "diff_digest", task.diff_digest);
  set_list(body, "gates", command.gates);
  set_list(body, "overrides", command.overrides);
  set_text(body, "reason", command.reason);
  return sandbox::dump_json(body);
}

std::string project_body(const ProjectAddCommand& command, const std::string& policy) {
  json body{{"name", command.name}, {"target", command.target}, {"authority", command.authority}};
  set_text(body, "repository", command.repository);
  set_text(body, "url", command.url);
  set_text(body, "policy", policy);
  if (command.import) body["import"] = true;
  return sandbox::dump_json(body);
}

std::string principal_body(const TokenCreateCommand& command) {
  json body{{"name", command.principal}};
  set_text(body, "owner", command.owner);
  return sandbox::dump_json(body);
}

std::string grant_body(const TokenCreateCommand& command, const std::string& role) {
  return sandbox::dump_json(
      {{"principal", command.principal}, {"project", command.project}, {"role", role}});
}

std::string reason_body(const std::string& reason) {
  return sandbox::dump_json({{"reason", reason}});
}

std::string token_body(const TokenCreateCommand& command) {
  json body{{"principal", command.principal}};
  if (command.lifetime.count() > 0)
    body["lifetime_seconds"] =
        std::chrono::duration_cast<std::chrono::seconds>(command.lifetime).count();
  return sandbox::dump_json(body);
}

}  // namespace runner::cli
