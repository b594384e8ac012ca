#include "sandbox/gpu/desk.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sandbox/gpu/telemetry_fields.h"
#include "sandbox/wire.h"

namespace sandbox::gpu {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// A release reads counters of the GPU: it answers within moments.
constexpr milliseconds kReleaseLimit{60'000};

constexpr std::array<std::string_view, 4> kStates{"free", "leased", "cleaning", "quarantined"};

constexpr std::array kCodes{os::Code::invalid, os::Code::not_found, os::Code::conflict,
                            os::Code::denied,  os::Code::exhausted, os::Code::unavailable,
                            os::Code::timeout, os::Code::cancelled, os::Code::corrupt,
                            os::Code::internal};

json to_json(const GpuTelemetry& sum) {
  json object;
  visit_telemetry(sum, [&](const char* name, const auto& value) { object[name] = value; });
  return object;
}

GpuTelemetry telemetry_from(const json& object) {
  GpuTelemetry sum;
  visit_telemetry(sum, [&](const char* name, auto& value) { object.at(name).get_to(value); });
  return sum;
}

LeaseEnd end_from(const json& object) {
  LeaseEnd end;
  for (const json& use : object.at("uses"))
    end.uses.push_back({use.at("uuid").get<std::string>(), use.at("name").get<std::string>(),
                        telemetry_from(use.at("telemetry")),
                        use.at("xids").get<std::vector<int>>()});
  object.at("driver").get_to(end.driver);
  object.at("fault").get_to(end.fault);
  return end;
}

os::Error error_from(const json& object) {
  os::Error error{os::Code::internal, object.at("message").get<std::string>(), 0};
  for (const os::Code code : kCodes)
    if (os::code_name(code) == object.at("code").get<std::string>()) error.code = code;
  return error;
}

// The object of a message of ours; json::exception for any other.
json open_message(std::string_view text) {
  os::Result<json> object = parse_json(text);
  if (!object || !object->is_object()) return json::object();
  return std::move(*object);
}

std::unexpected<os::Error> not_ours(std::string_view why) {
  return os::fail(os::Code::invalid, fmt::format("message of the GPU desk: {}", why));
}

}  // namespace

std::string_view gpu_state_name(GpuState state) {
  return kStates.at(static_cast<std::size_t>(state));
}

GpuState parse_gpu_state(std::string_view word) {
  const auto state = std::ranges::find(kStates, word);
  return state == kStates.end() ? GpuState::quarantined
                                : static_cast<GpuState>(state - kStates.begin());
}

json to_json(const LeaseEnd& end) {
  json uses = json::array();
  for (const GpuUse& use : end.uses)
    uses.push_back({{"uuid", use.uuid},
                    {"name", use.name},
                    {"telemetry", to_json(use.telemetry)},
                    {"xids", use.xids}});
  return {{"uses", std::move(uses)}, {"driver", end.driver}, {"fault", end.fault}};
}

void add_variables(const Lease& lease, std::vector<std::string>& environment) {
  for (const std::string& variable : lease.environment) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    const auto found = std::ranges::find_if(
        environment, [&](const std::string& other) { return other.starts_with(name); });
    if (found == environment.end())
      environment.push_back(variable);
    else if (name == "LD_LIBRARY_PATH=")
      *found = variable + ":" + found->substr(name.size());
    else
      *found = variable;
  }
}

std::string encode(const DeskRequest& request) {
  if (const auto* release = std::get_if<ReleaseRequest>(&request))
    return dump_json({{"schema", 1}, {"op", "release"}, {"run", release->run}});
  const auto& lease = std::get<LeaseRequest>(request);
  return dump_json({{"schema", 1},
                    {"op", "acquire"},
                    {"run", lease.run},
                    {"count", lease.count},
                    {"min_memory", lease.min_memory.count},
                    {"exclusive", lease.exclusive},
                    {"same", lease.same}});
}

os::Result<DeskRequest> decode_desk_request(std::string_view text) {
  try {
    const json object = open_message(text);
    if (object.at("schema").get<int>() != 1) return not_ours("another version");
    const std::string operation = object.at("op").get<std::string>();
    const std::string run = object.at("run").get<std::string>();
    if (operation == "release" && object.size() == 3) return ReleaseRequest{run};
    if (operation != "acquire" || object.size() != 7) return not_ours("unknown request");
    LeaseRequest lease;
    lease.run = run;
    object.at("count").get_to(lease.count);
    object.at("min_memory").get_to(lease.min_memory.count);
    object.at("exclusive").get_to(lease.exclusive);
    object.at("same").get_to(lease.same);
    return lease;
  } catch (const json::exception& error) {
    return not_ours(error.what());
  }
}

std::string encode(const DeskAnswer& answer) {
  json object{{"schema", 1}};
  if (answer.error)
    object["error"] = {{"code", os::code_name(answer.error->code)},
                       {"message", answer.error->message}};
  if (answer.lease)
    object["lease"] = {{"run", answer.lease->run},
                       {"uuids", answer.lease->uuids},
                       {"environment", answer.lease->environment},
                       {"gaps", answer.lease->gaps}};
  if (answer.end) object["end"] = to_json(*answer.end);
  return dump_json(object);
}

os::Result<DeskAnswer> decode_desk_answer(std::string_view text) {
  try {
    const json object = open_message(text);
    if (object.at("schema").get<int>() != 1 || object.size() != 2)
      return not_ours("another version");
    DeskAnswer answer;
    if (object.contains("error")) {
      answer.error = error_from(object.at("error"));
    } else if (object.contains("lease")) {
      const json& lease = object.at("lease");
      answer.lease = Lease{lease.at("run").get<std::string>(),
                           lease.at("uuids").get<std::vector<std::string>>(),
                           lease.at("environment").get<std::vector<std::string>>(),
                           lease.at("gaps").get<std::vector<std::string>>()};
    } else {
      answer.end = end_from(object.at("end"));
    }
    return answer;
  } catch (const json::exception& error) {
    return not_ours(error.what());
  }
}

json to_json(const GpuStatus& status) {
  json object{{"uuid", status.uuid},
              {"name", status.name},
              {"parent", status.parent},
              {"index", status.index},
              {"memory", status.memory.count},
              {"state", gpu_state_name(status.state)},
              {"cordoned", status.is_cordoned},
              {"usable", status.is_usable},
              {"reason", status.reason},
              {"since", status.since},
              {"owner", status.owner},
              {"run", status.run},
              {"uses", status.uses}};
  if (status.telemetry) object["telemetry"] = to_json(*status.telemetry);
  return object;
}

GpuStatus gpu_status_from_json(const json& object) {
  GpuStatus status;
  object.at("uuid").get_to(status.uuid);
  object.at("name").get_to(status.name);
  object.at("parent").get_to(status.parent);
  object.at("index").get_to(status.index);
  object.at("memory").get_to(status.memory.count);
  status.state = parse_gpu_state(object.at("state").get<std::string>());
  object.at("cordoned").get_to(status.is_cordoned);
  object.at("usable").get_to(status.is_usable);
  object.at("reason").get_to(status.reason);
  object.at("since").get_to(status.since);
  object.at("owner").get_to(status.owner);
  object.at("run").get_to(status.run);
  object.at("uses").get_to(status.uses);
  if (object.contains("telemetry")) status.telemetry = telemetry_from(object.at("telemetry"));
  return status;
}

os::Result<DeskAnswer> DeskClient::call(const DeskRequest& request, milliseconds limit,
                                        int cancel_fd) {
  const auto gone = [this] {
    socket_.close();
    return os::fail(os::Code::unavailable, "the executor that leases GPUs is gone");
  };
  if (!socket_.is_open()) return gone();
  const std::string packet = encode(request);
  if (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return gone();
  const steady_clock::time_point deadline = steady_clock::now() + limit;
  std::array<pollfd, 2> watched{{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = cancel_fd, .events = POLLIN, .revents = 0}}};
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
    const auto wait = static_cast<int>(std::max(left, milliseconds(0)).count());
    const int ready = ::poll(watched.data(), watched.size(), wait);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return os::fail_errno("wait for a GPU");
    if (watched[0].revents != 0) break;
    // Closed, the executor takes back what it may just be giving.
    socket_.close();
    if (ready > 0) return os::fail(os::Code::cancelled, "cancelled while waiting for a GPU");
    return os::fail(os::Code::timeout, "no GPU became free in " + os::format_duration(limit));
  }
  std::string answer(kMostDeskBytes, '\0');
  const ssize_t got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
  if (got <= 0) return gone();
  answer.resize(static_cast<std::size_t>(got));
  DeskAnswer decoded = TRY(decode_desk_answer(answer));
  if (decoded.error) return std::unexpected(*decoded.error);
  return decoded;
}

os::Result<Lease> DeskClient::acquire(const LeaseRequest& request, milliseconds limit,
                                      int cancel_fd) {
  DeskAnswer answer = TRY(call(request, limit, cancel_fd));
  if (!answer.lease) return os::fail(os::Code::corrupt, "the executor answered something else");
  return std::move(*answer.lease);
}

os::Result<LeaseEnd> DeskClient::release(const std::string& run) {
  DeskAnswer answer = TRY(call(ReleaseRequest{run}, kReleaseLimit, -1));
  if (!answer.end) return os::fail(os::Code::corrupt, "the executor answered something else");
  return std::move(*answer.end);
}

}  // namespace sandbox::gpu
