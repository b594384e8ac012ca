#include "runner/executor/protocol.h"

#include <array>

#include <nlohmann/json.hpp>

#include "sandbox/gpu/desk.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

constexpr std::array kCodes{os::Code::invalid, os::Code::not_found, os::Code::conflict,
                            os::Code::denied,  os::Code::exhausted, os::Code::unavailable,
                            os::Code::timeout, os::Code::cancelled, os::Code::corrupt,
                            os::Code::internal};

std::string line_of(const json& value) { return sandbox::dump_json(value) + "\n"; }

std::string text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t number(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

std::vector<int> numbers(const json& object, const char* key) {
  std::vector<int> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& item : *found)
    if (item.is_number_integer()) list.push_back(item.get<int>());
  return list;
}

std::vector<std::string> texts(const json& object, const char* key) {
  std::vector<std::string> list;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return list;
  for (const json& item : *found)
    if (item.is_string()) list.push_back(item.get<std::string>());
  return list;
}

std::string_view state_word(AttemptState state) {
  switch (state) {
    case AttemptState::running:
      return "running";
    case AttemptState::ended:
      return "ended";
    case AttemptState::lost:
      return "lost";
  }
  return "lost";
}

json report_json(const AttemptStatusReport& report) {
  return {{"attempt", report.attempt.str()},
          {"fence", report.fence},
          {"state", state_word(report.state)},
          {"detail", report.detail}};
}

AttemptStatusReport report_from(const json& object) {
  AttemptStatusReport report;
  report.attempt = tasks::AttemptId(text(object, "attempt"));
  report.fence = number(object, "fence");
  const std::string state = text(object, "state");
  report.state = state == "running" ? AttemptState::running
                 : state == "ended" ? AttemptState::ended
                                    : AttemptState::lost;
  report.detail = text(object, "detail");
  return report;
}

json feature_json(const sandbox::Feature& feature) {
  return {{"name", feature.name},
          {"required", feature.required},
          {"present", feature.present},
          {"detail", feature.detail},
          {"remedy", feature.remedy}};
}

json probe_json(const ExecutorProbe& probe) {
  json features = json::array();
  for (const sandbox::Feature& feature : probe.features) features.push_back(feature_json(feature));
  json gpus = json::array();
  for (const sandbox::gpu::GpuStatus& gpu : probe.gpus) gpus.push_back(sandbox::gpu::to_json(gpu));
  return {{"version", probe.version},
          {"features", features},
          {"missing", probe.missing},
          {"cpus", probe.cpus},
          {"memory", probe.memory.count},
          {"gpus", std::move(gpus)},
          {"gpu_problem", probe.gpu_problem},
          {"environment", probe.environment_sha256},
          {"level", probe.level}};
}

ExecutorProbe probe_from(const json& object) {
  ExecutorProbe probe;
  probe.version = text(object, "version");
  for (const json& item : object.value("features", json::array())) {
    probe.features.push_back({.name = text(item, "name"),
                              .required = item.value("required", true),
                              .present = item.value("present", false),
                              .detail = text(item, "detail"),
                              .remedy = text(item, "remedy")});
  }
  probe.missing = texts(object, "missing");
  probe.cpus = numbers(object, "cpus");
  probe.memory = os::Bytes{static_cast<std::uint64_t>(number(object, "memory"))};
  probe.gpu_problem = text(object, "gpu_problem");
  try {
    for (const json& gpu : object.value("gpus", json::array()))
      probe.gpus.push_back(sandbox::gpu::gpu_status_from_json(gpu));
  } catch (const json::exception& error) {
    probe.gpu_problem = error.what();
  }
  probe.environment_sha256 = text(object, "environment");
  probe.level = text(object, "level");
  return probe;
}

struct CallWriter {
  json& object;
  void operator()(const ProbeCall&) const { object["op"] = "probe"; }
  void operator()(const ListCall&) const { object["op"] = "list"; }
  void operator()(const StartCall& call) const {
    object["op"] = "start";
    object["attempt"] = call.start.attempt.str();
    object["fence"] = call.start.fence;
    object["kind"] = call.start.kind == tasks::AttemptKind::ingest ? "ingest" : "verify";
    object["cpus"] = call.start.cpus;
    object["memory"] = call.start.memory.count;
    object["repository"] = call.start.repository;
  }
  void operator()(const CancelCall& call) const {
    object["op"] = "cancel";
    object["attempt"] = call.attempt.str();
    object["fence"] = call.fence;
    object["grace_ms"] = call.grace.count();
  }
  void operator()(const CordonCall& call) const {
    object["op"] = "cordon";
    object["uuid"] = call.uuid;
    object["cordoned"] = call.is_cordoned;
    object["reason"] = call.reason;
  }
  void operator()(const RemoveCall& call) const {
    object["op"] = "remove";
    object["attempt"] = call.attempt.str();
    object["fence"] = call.fence;
  }
};

os::Result<ExecutorCall> call_from(const json& object) {
  const std::string op = text(object, "op");
  const tasks::AttemptId attempt(text(object, "attempt"));
  const std::int64_t fence = number(object, "fence");
  if (op == "probe") return ProbeCall{};
  if (op == "list") return ListCall{};
  if (op == "cordon") {
    const auto cordoned = object.find("cordoned");
    if (cordoned == object.end() || !cordoned->is_boolean())
      return os::fail(os::Code::invalid, "cordon without its word");
    return CordonCall{text(object, "uuid"), cordoned->get<bool>(), text(object, "reason")};
  }
  if (!os::is_plain_name(attempt.str()) || fence < 1)
    return os::fail(os::Code::invalid, "executor request without attempt and fence");
  if (op == "cancel")
    return CancelCall{attempt, fence, std::chrono::milliseconds(number(object, "grace_ms"))};
  if (op == "remove") return RemoveCall{attempt, fence};
  if (op != "start") return os::fail(os::Code::invalid, "unknown executor operation");
  const std::string kind = text(object, "kind");
  if (kind != "ingest" && kind != "verify")
    return os::fail(os::Code::invalid, "unknown kind of attempt");
  return StartCall{AttemptStart{
      .attempt = attempt,
      .fence = fence,
      .kind = kind == "ingest" ? tasks::AttemptKind::ingest : tasks::AttemptKind::verify,
      .cpus = numbers(object, "cpus"),
      .memory = os::Bytes{static_cast<std::uint64_t>(number(object, "memory"))},
      .repository = text(object, "repository")}};
}

}  // namespace

std::string encode(const ExecutorRequest& request) {
  json object{{"id", request.id}};
  std::visit(CallWriter{object}, request.call);
  return line_of(object);
}

os::Result<ExecutorRequest> decode_executor_request(std::string_view line) {
  const json object = TRY(sandbox::parse_json(line));
  if (!object.is_object()) return os::fail(os::Code::invalid, "executor request is no object");
  return ExecutorRequest{number(object, "id"), TRY(call_from(object))};
}

std::string encode(const ExecutorAnswer& answer) {
  if (answer.changed) return line_of({{"changed", report_json(*answer.changed)}});
  json object{{"id", answer.id}};
  if (answer.error) {
    object["error"] = {{"code", os::code_name(answer.error->code)},
                       {"message", answer.error->message},
                       {"errno", answer.error->sys_errno}};
    return line_of(object);
  }
  json attempts = json::array();
  for (const AttemptStatusReport& report : answer.attempts) attempts.push_back(report_json(report));
  object["ok"] = {{"attempts", attempts}};
  if (answer.probe) object["ok"]["probe"] = probe_json(*answer.probe);
  return line_of(object);
}

os::Result<ExecutorAnswer> decode_executor_answer(std::string_view line) {
  const json object = TRY(sandbox::parse_json(line));
  if (!object.is_object()) return os::fail(os::Code::corrupt, "executor answer is no object");
  ExecutorAnswer answer;
  answer.id = number(object, "id");
  if (const auto changed = object.find("changed"); changed != object.end())
    answer.changed = report_from(*changed);
  if (const auto error = object.find("error"); error != object.end()) {
    answer.error = os::Error{os::Code::internal, text(*error, "message"),
                             static_cast<int>(number(*error, "errno"))};
    for (const os::Code code : kCodes)
      if (os::code_name(code) == text(*error, "code")) answer.error->code = code;
  }
  if (const auto ok = object.find("ok"); ok != object.end()) {
    for (const json& item : ok->value("attempts", json::array()))
      answer.attempts.push_back(report_from(item));
    if (const auto probe = ok->find("probe"); probe != ok->end()) answer.probe = probe_from(*probe);
  }
  return answer;
}

os::Result<void> LineBuffer::append(std::string_view bytes) {
  bytes_ += bytes;
  if (bytes_.find('\n') == std::string::npos && bytes_.size() > kMaxLine)
    return os::fail(os::Code::exhausted, "a line of the executor's socket is too long");
  return {};
}

std::optional<std::string> LineBuffer::next() {
  const std::size_t end = bytes_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return line;
}

}  // namespace runner
