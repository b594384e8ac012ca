#include <algorithm>

#include <fmt/format.h>

#include "tasks/policy_yaml_sections.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxGates = 100;
constexpr std::int64_t kMaxCount = 100'000'000;
constexpr std::int64_t kMaxReruns = 20;

// What each kind takes besides `kind` and `always`.
AllowedNames keys_of(GateKind kind) {
  AllowedNames allowed{{"kind", "always"}, {"calls", "holdout"}};
  const auto more = [&](std::initializer_list<std::string_view> names) {
    allowed.names.insert(allowed.names.end(), names);
  };
  switch (kind) {
    case GateKind::tests:
      more({"steps", "reruns"});
      break;
    case GateKind::benchmark:
      more({"step", "tolerance", "inconclusive", "accept_mde", "max_spread", "budget", "clock"});
      break;
    case GateKind::diff:
      more({"max_lines", "max_files", "forbid"});
      break;
    case GateKind::determinism:
      more({"step", "outputs", "runs"});
      break;
    case GateKind::parity:
      more({"step", "outputs"});
      break;
  }
  return allowed;
}

}  // namespace

void PolicySections::read_gates(const YamlNode& node) {
  if (!fields_.open_free_map(node, "gates", kMaxGates)) return;
  if (node.entries.empty())
    fields_.add(node.place, "a policy has at least one gate: without one nothing would be judged");
  for (const YamlEntry& entry : node.entries) read_gate(entry);
}

void PolicySections::read_gate(const YamlEntry& entry) {
  const std::string where = "gates." + entry.key;
  places_[where] = entry.place;
  fields_.check_name(entry.place, "gate", entry.key);
  const YamlNode& node = entry.value;
  const YamlNode* const kind = node.find("kind");
  const AllowedNames kinds{{"tests", "benchmark", "diff", "determinism", "parity"}, {"holdout"}};
  if (kind == nullptr) {
    fields_.add(entry.place, fmt::format("gate '{}' has no 'kind'; allowed: {}", entry.key,
                                         list_names(kinds.names)));
    return;
  }
  std::size_t word = kinds.names.size();
  fields_.read_word(*kind, "kind", kinds, word);
  // Without a kind nobody knows which keys are right.
  if (word == kinds.names.size()) return;
  Gate gate;
  gate.name = GateName(entry.key);
  gate.kind = static_cast<GateKind>(word);
  if (!fields_.open_map(node, fmt::format("gate '{}'", entry.key), keys_of(gate.kind))) return;
  for (const YamlEntry& part : node.entries) places_[where + "." + part.key] = part.place;
  if (const YamlNode* const value = node.find("always"))
    fields_.read_flag(*value, "always", gate.always);
  switch (gate.kind) {
    case GateKind::tests:
      read_tests_gate(node, where, gate);
      break;
    case GateKind::benchmark:
      read_benchmark_gate(node, where, gate);
      break;
    case GateKind::diff:
      read_diff_gate(node, gate);
      break;
    case GateKind::determinism:
      read_determinism_gate(node, where, gate);
      break;
    case GateKind::parity:
      read_parity_gate(node, where, gate);
      break;
  }
  policy_.gates.push_back(std::move(gate));
}

void PolicySections::read_tests_gate(const YamlNode& node, const std::string& where, Gate& gate) {
  const YamlNode* const steps = node.find("steps");
  if (steps == nullptr) {
    fields_.add(node.place, "a tests gate needs 'steps': [the steps whose reports it judges]");
    return;
  }
  if (!fields_.open_list(*steps, "steps", kMaxGates)) return;
  for (const YamlEntry& entry : steps->entries) {
    std::string name;
    fields_.read_text(entry.value, "steps", 64, name);
    places_[fmt::format("{}.steps.{}", where, gate.steps.size())] = entry.place;
    gate.steps.emplace_back(std::move(name));
  }
  if (const YamlNode* const value = node.find("reruns"))
    fields_.read_integer(*value, "reruns", {0, kMaxReruns}, gate.reruns);
}

void PolicySections::read_benchmark_gate(const YamlNode& node, const std::string& where,
                                         Gate& gate) {
  if (const YamlNode* const value = node.find("step")) {
    std::string name;
    fields_.read_text(*value, "step", 64, name);
    places_[where + ".steps.0"] = value->place;
    gate.steps.emplace_back(std::move(name));
  } else {
    fields_.add(node.place, "a benchmark gate needs 'step': the step whose report it compares");
  }
  if (const YamlNode* const value = node.find("tolerance"))
    read_share(*value, "tolerance", gate.tolerance);
  if (const YamlNode* const value = node.find("max_spread")) {
    gate.max_spread.emplace();
    read_share(*value, "max_spread", *gate.max_spread);
  }
  if (const YamlNode* const value = node.find("accept_mde"))
    fields_.read_flag(*value, "accept_mde", gate.accept_mde);
  if (const YamlNode* const value = node.find("budget"))
    fields_.read_duration(*value, "budget", {1000, 24 * 3'600'000}, gate.budget);
  if (const YamlNode* const value = node.find("clock")) {
    auto word = static_cast<std::size_t>(gate.clock);
    fields_.read_word(*value, "clock", {{"report", "outside-cpu", "outside-wall"}, {}}, word);
    gate.clock = static_cast<GateClock>(word);
  }
  if (const YamlNode* const value = node.find("inconclusive")) {
    auto word = static_cast<std::size_t>(gate.inconclusive);
    fields_.read_word(*value, "inconclusive", {{"block", "ask", "pass"}, {}}, word);
    gate.inconclusive = static_cast<Inconclusive>(word);
  }
}

void PolicySections::read_share(const YamlNode& node, std::string_view what, Share& share) {
  std::string text;
  fields_.read_text(node, what, 32, text);
  const os::Result<std::int64_t> found = os::parse_percent_millionths(text);
  // A tenth of a percent is far below what can be told apart; over 100 % means no gate at all.
  constexpr std::int64_t kLeast = 1000;
  constexpr std::int64_t kMost = 1'000'000;
  if (!found)
    fields_.add(node.place, fmt::format("{}: {}", what, found.error().message));
  else if (*found < kLeast || *found > kMost)
    fields_.add(node.place, fmt::format("{} is from 0.1% to 100%, not '{}'", what, text));
  else
    share.millionths = *found;
}

void PolicySections::read_diff_gate(const YamlNode& node, Gate& gate) {
  std::int64_t count = 0;
  if (const YamlNode* const value = node.find("max_lines")) {
    fields_.read_integer(*value, "max_lines", {0, kMaxCount}, count);
    gate.max_lines = count;
  }
  if (const YamlNode* const value = node.find("max_files")) {
    count = 0;
    fields_.read_integer(*value, "max_files", {0, kMaxCount}, count);
    gate.max_files = count;
  }
  if (const YamlNode* const value = node.find("forbid"))
    fields_.read_globs(*value, "forbid", gate.forbid);
  if (!gate.max_lines && !gate.max_files && gate.forbid.empty())
    fields_.add(node.place, "a diff gate needs at least one of max_lines, max_files, forbid");
}

}  // namespace tasks
