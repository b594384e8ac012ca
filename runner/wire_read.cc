#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "runner/wire.h"
#include "sandbox/os/units.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

using nlohmann::json;

std::unexpected<ServiceError> invalid(const std::string& pointer, const std::string& detail) {
  return std::unexpected(ServiceError{.problem = "invalid_field",
                                      .detail = detail,
                                      .next_step = "correct the field and post again",
                                      .retryable = false,
                                      .pointer = pointer,
                                      .extra = {}});
}

// Reads the members of one object, and knows afterwards which were never asked for.
class Reader {
 public:
  Reader(const json& object, std::string pointer) : object_(object), pointer_(std::move(pointer)) {}

  std::string text(const char* key, std::size_t limit = kLongestText) {
    const json* value = take(key);
    if (value == nullptr || value->is_null()) return {};
    if (!value->is_string()) return wrong(key, "must be a string"), std::string();
    std::string found = value->get<std::string>();
    if (found.size() > limit)
      return wrong(key, "is longer than " + std::to_string(limit) + " bytes"), std::string();
    return found;
  }

  bool flag(const char* key) {
    const json* value = take(key);
    if (value == nullptr) return false;
    if (!value->is_boolean()) return wrong(key, "must be true or false"), false;
    return value->get<bool>();
  }

  std::int64_t number(const char* key) {
    const json* value = take(key);
    if (value == nullptr) return 0;
    if (!value->is_number_integer()) return wrong(key, "must be an integer"), 0;
    return value->get<std::int64_t>();
  }

  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> list;
    const json* value = take(key);
    if (value == nullptr) return list;
    if (!value->is_array()) return wrong(key, "must be a list of strings"), list;
    for (const json& item : *value) {
      if (!item.is_string() || list.size() == 10'000)
        return wrong(key, "must be a list of at most 10000 strings"), list;
      list.push_back(item.get<std::string>());
    }
    return list;
  }

  // A member object, or an empty one when it is absent.
  json object(const char* key) {
    const json* value = take(key);
    if (value == nullptr || value->is_null()) return json::object();
    if (!value->is_object()) return wrong(key, "must be an object"), json::object();
    return *value;
  }

  bool has(const char* key) const { return object_.contains(key); }

  void wrong(const std::string& key, const std::string& what) {
    if (!error_) error_ = {pointer_ + "/" + key, "'" + key + "' " + what};
  }

  // The first mistake, unknown keys included.
  Answer<void> finish() {
    for (const auto& [key, value] : object_.items())
      if (!error_ && std::ranges::find(seen_, key) == seen_.end())
        wrong(key, "is not known here; known: " + known());
    if (error_) return invalid(error_->first, error_->second);
    return {};
  }

 private:
  const json* take(const char* key) {
    seen_.emplace_back(key);
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }

  std::string known() const {
    std::string list;
    for (const std::string& key : seen_) list += (list.empty() ? "" : ", ") + key;
    return list;
  }

  const json& object_;
  std::string pointer_;
  std::vector<std::string> seen_;
  std::optional<std::pair<std::string, std::string>> error_;
};

Answer<json> parse_object(std::string_view text) {
  os::Result<json> parsed = sandbox::parse_json(text);
  if (parsed && parsed->is_object()) return std::move(*parsed);
  return std::unexpected(
      ServiceError{.problem = "bad_json",
                   .detail = parsed ? "the body must be one JSON object" : parsed.error().message,
                   .next_step = "send one JSON object, at most 16 levels deep",
                   .retryable = false,
                   .pointer = "",
                   .extra = {}});
}

Answer<tasks::Claims> read_claims(const json& object) {
  Reader reader(object, "/claims");
  tasks::Claims claims;
  claims.text = reader.text("text");
  claims.fixes = reader.texts("fixes");
  claims.removes = reader.texts("removes");
  const json faster = reader.object("faster");
  for (const auto& [gate, value] : faster.items()) {
    const os::Result<std::int64_t> share = os::parse_percent_millionths(
        value.is_string() ? value.get_ref<const std::string&>() : std::string());
    if (!share || *share <= 0)
      return invalid("/claims/faster", "a claim is {gate: \"5%\"}, over 0% and at most 1000%");
    claims.faster[gate] = *share;
  }
  const Answer<void> end = reader.finish();
  if (!end) return std::unexpected(end.error());
  return claims;
}

Answer<void> read_change(const json& object, bool is_given, Submission& submission) {
  if (!is_given) return {};
  Reader reader(object, "/change");
  submission.patch = reader.text("patch", 8U << 20U);
  submission.commit = reader.text("commit", 64);
  submission.pack = reader.text("pack", 128);
  if (submission.patch.empty() == submission.commit.empty())
    reader.wrong("patch", "or 'commit' must be given, exactly one of them");
  return reader.finish();
}

}  // namespace

Answer<Submission> submission_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  Submission submission;
  submission.project = reader.text("project", 64);
  submission.base = reader.text("base", 64);
  submission.title = reader.text("title", 1024);
  submission.family = reader.text("family", 64);
  submission.steps = reader.texts("steps");
  const std::string intent = reader.text("intent", 16);
  const std::string priority = reader.text("priority", 16);
  const json change = reader.object("change");
  const json claims = reader.object("claims");
  if (submission.project.empty()) reader.wrong("project", "is required");
  if (!intent.empty()) {
    const os::Result<tasks::Intent> parsed = tasks::parse_intent(intent);
    if (parsed)
      submission.intent = *parsed;
    else
      reader.wrong("intent", "must be run, verify or promote");
  }
  if (!priority.empty()) {
    static constexpr std::array<std::string_view, 3> kKnown{"interactive", "normal", "background"};
    if (std::ranges::find(kKnown, priority) == kKnown.end())
      reader.wrong("priority", "must be interactive, normal or background");
    submission.priority = priority;
  }
  if (!reader.has("change") && submission.intent != tasks::Intent::run)
    reader.wrong("change", "is required (only intent run goes without)");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  if (const Answer<void> read = read_change(change, reader.has("change"), submission); !read)
    return std::unexpected(read.error());
  const Answer<tasks::Claims> read = read_claims(claims);
  if (!read) return std::unexpected(read.error());
  submission.claims = *read;
  return submission;
}

Answer<BacktestRequest> backtest_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  BacktestRequest request;
  request.policy_yaml = reader.text("policy", 256U << 10U);
  // A number out of range is refused by its name, not cut to one that is in it.
  if (reader.has("last"))
    request.last = static_cast<int>(std::clamp<std::int64_t>(reader.number("last"), -1, 1'000'000));
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return request;
}

Answer<ApprovalRequest> approval_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  ApprovalRequest request;
  const std::string decision = reader.text("decision", 16);
  request.commit = reader.text("commit", 64);
  request.diff_digest = reader.text("diff_digest", 64);
  request.gates = reader.texts("gates");
  request.reason = reader.text("reason");
  request.overrides = reader.texts("overrides");
  if (const os::Result<Decision> parsed = parse_decision(decision))
    request.decision = *parsed;
  else
    reader.wrong("decision", "must be approve, refuse or abstain");
  if (request.commit.empty())
    reader.wrong("commit", "is required: the candidate that was reviewed");
  if (request.decision == Decision::refuse && request.reason.empty())
    reader.wrong("reason", "is required to refuse");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return request;
}

Answer<ProjectSpec> project_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  ProjectSpec spec;
  spec.name = reader.text("name", 64);
  spec.repository = reader.text("repository");
  spec.url = reader.text("url");
  spec.target = reader.text("target", 256);
  spec.policy_yaml = reader.text("policy", 256U << 10U);
  spec.import = reader.flag("import");
  const std::string authority = reader.text("authority", 16);
  if (authority == "remote")
    spec.authority = Authority::remote;
  else if (!authority.empty() && authority != "local")
    reader.wrong("authority", "must be local or remote");
  if (spec.name.empty()) reader.wrong("name", "is required");
  if (spec.target.empty()) reader.wrong("target", "is required, for example refs/heads/main");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return spec;
}

Answer<std::string> reason_from_wire(std::string_view text, std::size_t limit) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  std::string reason = reader.text("reason", limit);
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return reason;
}

Answer<Principal> principal_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  Principal principal;
  principal.name = reader.text("name", 64);
  principal.owner = reader.text("owner", 64);
  if (principal.name.empty()) reader.wrong("name", "is required");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return principal;
}

Answer<Grant> grant_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  Grant grant;
  grant.principal = reader.text("principal", 64);
  grant.project = reader.text("project", 64);
  if (grant.project.empty()) grant.project = "*";
  const os::Result<Role> role = parse_role(reader.text("role", 16));
  if (role)
    grant.role = *role;
  else
    reader.wrong("role", "must be agent, ci, reviewer, owner or admin");
  if (grant.principal.empty()) reader.wrong("principal", "is required");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return grant;
}

Answer<std::string> cordon_reason_from_wire(std::string_view text) {
  return text.empty() ? std::string() : reason_from_wire(text, 300);
}

Answer<TokenRequest> token_request_from_wire(std::string_view text) {
  const Answer<json> object = parse_object(text);
  if (!object) return std::unexpected(object.error());
  Reader reader(*object, "");
  TokenRequest request;
  request.principal = reader.text("principal", 64);
  request.lifetime = std::chrono::seconds(reader.number("lifetime_seconds"));
  if (request.principal.empty()) reader.wrong("principal", "is required");
  if (request.lifetime.count() < 0) reader.wrong("lifetime_seconds", "must not be negative");
  if (const Answer<void> end = reader.finish(); !end) return std::unexpected(end.error());
  return request;
}

}  // namespace runner
