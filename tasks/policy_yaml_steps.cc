#include <algorithm>

#include <fmt/format.h>

#include "tasks/policy_yaml_sections.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxSteps = 100;
constexpr std::size_t kMaxNeeds = 100;
constexpr std::size_t kMaxReports = 16;
constexpr std::size_t kMaxOutputs = 32;
constexpr std::size_t kMaxVariables = 64;
constexpr std::int64_t kMaxCalls = 1'000'000'000;
constexpr std::size_t kMaxCommand = 32U << 10U;  // fits into one packet to the jail
constexpr std::size_t kMaxVariable = 4U << 10U;

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && name.size() <= 64 && letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

void PolicySections::read_steps(const YamlNode& node) {
  if (!fields_.open_free_map(node, "steps", kMaxSteps)) return;
  if (node.entries.empty()) fields_.add(node.place, "a policy has at least one step");
  for (const YamlEntry& entry : node.entries) read_step(entry);
}

void PolicySections::read_step(const YamlEntry& entry) {
  const std::string where = "steps." + entry.key;
  places_[where] = entry.place;
  if (fields_.check_name(entry.place, "step", entry.key) && entry.key.contains('.'))
    fields_.add(entry.place, "a step's name has no '.': step.output names its output");
  const AllowedNames allowed{{"run", "from", "needs", "report", "outputs", "environment", "limits",
                              "gpu", "exclusive", "calls", "interact"},
                             {}};
  const YamlNode& node = entry.value;
  if (!fields_.open_map(node, fmt::format("step '{}'", entry.key), allowed)) return;
  for (const YamlEntry& part : node.entries) places_[where + "." + part.key] = part.place;
  Step step;
  step.name = StepName(entry.key);
  if (const YamlNode* const value = node.find("run"))
    fields_.read_text(*value, "run", kMaxCommand, step.run);
  else
    fields_.add(entry.place, fmt::format("step '{}' has no 'run': its command", entry.key));
  if (const YamlNode* const value = node.find("from")) read_from(*value, step);
  if (const YamlNode* const value = node.find("needs")) read_needs(*value, where, step);
  if (const YamlNode* const value = node.find("report")) read_reports(*value, where, step);
  if (const YamlNode* const value = node.find("outputs")) read_outputs(*value, where, step);
  if (const YamlNode* const value = node.find("environment")) read_variables(*value, step);
  LimitsRead limits = limits_;
  if (const YamlNode* const value = node.find("limits"))
    read_limits(*value, where + ".limits", limits);
  step.limits = limits.limits;
  if (const YamlNode* const value = node.find("calls")) read_calls(*value, step);
  if (const YamlNode* const value = node.find("interact"))
    fields_.read_flag(*value, "interact", step.interact);
  if (const YamlNode* const value = node.find("gpu")) read_gpu(*value, step);
  if (const YamlNode* const value = node.find("exclusive")) {
    bool is_exclusive = false;
    fields_.read_flag(*value, "exclusive", is_exclusive);
    if (step.gpu)
      step.gpu->exclusive = is_exclusive;
    else
      fields_.add(value->place, "exclusive is about GPUs: this step has no 'gpu'");
  }
  policy_.steps.push_back(std::move(step));
}

void PolicySections::read_from(const YamlNode& node, Step& step) {
  std::size_t word = 1;
  fields_.read_word(node, "from", {{"base"}, {}}, word);
  step.from_base = word == 0;
}

void PolicySections::read_needs(const YamlNode& node, const std::string& where, Step& step) {
  if (!fields_.open_list(node, "needs", kMaxNeeds)) return;
  for (const YamlEntry& entry : node.entries) {
    std::string text;
    fields_.read_text(entry.value, "needs", 160, text);
    const std::size_t dot = text.find('.');
    const std::string name = text.substr(0, dot);
    const std::string output = dot == std::string::npos ? "" : text.substr(dot + 1);
    places_[fmt::format("{}.needs.{}", where, step.needs.size())] = entry.place;
    if (text.empty()) continue;
    if (dot != std::string::npos && output.empty())
      fields_.add(entry.place, fmt::format("'{}' names no output: write step.output", text));
    else if (fields_.check_name(entry.place, "step", name))
      step.needs.push_back({StepName(name), output});
  }
}

void PolicySections::read_reports(const YamlNode& node, const std::string& where, Step& step) {
  const AllowedNames allowed{
      {"gtest-json", "gtest-xml", "ctest-junit", "pytest", "catch2", "nextest", "go-test", "tap",
       "google-benchmark", "criterion", "metrics", "npy", "safetensors"},
      {"junit"}};
  if (!fields_.open_map(node, "report", allowed)) return;
  for (const YamlEntry& entry : node.entries) read_report_paths(entry, where, step);
  if (step.reports.size() > kMaxReports)
    fields_.add(node.place, fmt::format("a step has at most {} reports", kMaxReports));
}

void PolicySections::read_report_paths(const YamlEntry& entry, const std::string& where,
                                       Step& step) {
  const os::Result<ReportFormat> format = parse_report_format(entry.key);
  if (!format) return;
  // One path or a list of paths.
  const YamlNode single{YamlNode::Kind::list, entry.place, "", {{"", entry.place, entry.value}}};
  const YamlNode& list = entry.value.kind == YamlNode::Kind::list ? entry.value : single;
  if (!fields_.open_list(list, "report", kMaxReports)) return;
  if (list.entries.empty()) fields_.add(entry.place, "report names no file");
  for (const YamlEntry& part : list.entries) {
    ReportSpec report{*format, ""};
    fields_.read_path(part.value, "the report", PolicyFields::PathKind::file, report.path);
    places_[fmt::format("{}.report.{}", where, step.reports.size())] = part.value.place;
    step.reports.push_back(std::move(report));
  }
}

void PolicySections::read_outputs(const YamlNode& node, const std::string& where, Step& step) {
  if (!fields_.open_free_map(node, "outputs", kMaxOutputs)) return;
  for (const YamlEntry& entry : node.entries) {
    places_[where + ".outputs." + entry.key] = entry.place;
    if (fields_.check_name(entry.place, "output", entry.key) && entry.key.contains('.'))
      fields_.add(entry.place, "an output's name has no '.'");
    std::string path;
    fields_.read_path(entry.value, "the output", PolicyFields::PathKind::file_or_directory, path);
    step.outputs[entry.key] = std::move(path);
  }
}

void PolicySections::read_variables(const YamlNode& node, Step& step) {
  if (!fields_.open_free_map(node, "environment", kMaxVariables)) return;
  for (const YamlEntry& entry : node.entries) {
    const std::string& name = entry.key;
    if (!is_variable_name(name))
      fields_.add(entry.place, "a variable's name has letters, digits and '_', at most 64");
    else if (name == "HOME" || name == "TMPDIR" || name.starts_with("PROOFHOUSE_"))
      fields_.add(entry.place, fmt::format("variable {} is set by the sandbox", name));
    if (entry.value.kind == YamlNode::Kind::scalar && entry.value.text.empty()) {
      step.environment[name] = "";
      continue;
    }
    fields_.read_text(entry.value, fmt::format("variable {}", name), kMaxVariable,
                      step.environment[name]);
  }
}

void PolicySections::read_calls(const YamlNode& node, Step& step) {
  if (!fields_.open_list(node, "calls", 2)) return;
  if (node.entries.size() != 2)
    return fields_.add(node.place, "calls are two counts: write [200, 600]");
  CallCounts calls;
  fields_.read_integer(node.entries[0].value, "calls", {1, kMaxCalls}, calls.fewer);
  fields_.read_integer(node.entries[1].value, "calls", {1, kMaxCalls}, calls.more);
  // Below twice as many, what a start costs hides what a call costs.
  if (calls.fewer > 0 && calls.more > 0 && calls.more < 2 * calls.fewer)
    fields_.add(node.entries[1].place,
                fmt::format("the second count of calls is at least twice the first, from {} on",
                            2 * calls.fewer));
  step.calls = calls;
}

void PolicySections::read_gpu(const YamlNode& node, Step& step) {
  if (!fields_.open_map(node, "gpu", {{"count", "min_memory", "exclusive"}, {}})) return;
  GpuSpec gpu;
  if (const YamlNode* const value = node.find("count"))
    fields_.read_integer(*value, "count", {1, 16}, gpu.count);
  if (const YamlNode* const value = node.find("min_memory"))
    fields_.read_bytes(*value, "min_memory", {0, 1LL << 42U}, gpu.min_memory);
  if (const YamlNode* const value = node.find("exclusive"))
    fields_.read_flag(*value, "exclusive", gpu.exclusive);
  step.gpu = gpu;
}

}  // namespace tasks
