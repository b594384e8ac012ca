#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sandbox/wire.h"

namespace sandbox {

using nlohmann::json;

namespace {

// True when arrays and objects are nested deeper than `depth`: looked at before anything is built
// of them. Brackets within strings do not count.
bool is_too_deep(std::string_view text, int depth) {
  int level = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (in_string && letter == '\\') ++at;
    if (letter == '"') in_string = !in_string;
    if (in_string) continue;
    if ((letter == '[' || letter == '{') && ++level > depth) return true;
    if (letter == ']' || letter == '}') --level;
  }
  return false;
}

}  // namespace

os::Result<json> parse_json(std::string_view text, int depth) {
  if (is_too_deep(text, depth))
    return os::fail(os::Code::invalid, fmt::format("JSON is nested over {} levels", depth));
  std::vector<std::set<std::string>> keys;
  std::string problem;
  const auto watch = [&](int /*level*/, json::parse_event_t event, json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        keys.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key:
        if (!keys.back().insert(parsed.get_ref<const std::string&>()).second)
          problem = fmt::format("key '{}' stands twice", parsed.get_ref<const std::string&>());
        break;
      case json::parse_event_t::value:
        break;
    }
    // After a problem nothing more is kept.
    return problem.empty();
  };
  json value = json::parse(text, watch, false);
  if (!problem.empty()) return os::fail(os::Code::invalid, problem);
  if (value.is_discarded()) return os::fail(os::Code::invalid, "not valid JSON");
  return value;
}

std::string dump_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const Outcome& outcome) {
  json out{{"kind", outcome_kind_name(outcome.kind)}};
  switch (outcome.kind) {
    case OutcomeKind::exited:
      out["code"] = outcome.code;
      break;
    case OutcomeKind::signalled:
      out["signal"] = outcome.signal;
      break;
    case OutcomeKind::timed_out:
    case OutcomeKind::killed:
      out["limit"] = outcome.limit;
      break;
    case OutcomeKind::cancelled:
      break;
    case OutcomeKind::setup_failed:
      out["step"] = outcome.step;
      if (outcome.error_number != 0) out["errno"] = outcome.error_number;
      break;
  }
  return out;
}

}  // namespace sandbox
