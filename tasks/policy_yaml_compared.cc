// Gates that compare outputs: determinism and parity.
#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "tasks/policy_yaml_sections.h"

namespace tasks {
namespace {

constexpr std::size_t kMaxCompared = 32;
constexpr int kMostRuns = 10;
constexpr std::int64_t kMostUlp = 1LL << 40U;

// The names of element types, as tolerances by type take them (tasks/reports/array_file.h).
const AllowedNames kElementTypes{{"bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                                  "uint32", "uint64", "float16", "bfloat16", "float32", "float64"},
                                 {}};

}  // namespace

void PolicySections::read_gate_step(const YamlNode& node, const std::string& where,
                                    std::string_view what, Gate& gate) {
  const YamlNode* const value = node.find("step");
  if (value == nullptr) {
    fields_.add(node.place,
                fmt::format("a {} gate needs 'step': the step whose outputs it compares", what));
    return;
  }
  std::string name;
  fields_.read_text(*value, "step", 64, name);
  places_[where + ".steps.0"] = value->place;
  gate.steps.emplace_back(std::move(name));
}

void PolicySections::read_determinism_gate(const YamlNode& node, const std::string& where,
                                           Gate& gate) {
  read_gate_step(node, where, "determinism", gate);
  if (const YamlNode* const value = node.find("runs"))
    fields_.read_integer(*value, "runs", {2, kMostRuns}, gate.runs);
  const YamlNode* const outputs = node.find("outputs");
  if (outputs == nullptr) {
    fields_.add(node.place, "a determinism gate needs 'outputs': [outputs of the step]");
    return;
  }
  if (!fields_.open_list(*outputs, "outputs", kMaxCompared)) return;
  if (outputs->entries.empty()) fields_.add(outputs->place, "outputs names none");
  for (const YamlEntry& entry : outputs->entries) {
    std::string name;
    fields_.read_text(entry.value, "outputs", 64, name);
    places_[fmt::format("{}.outputs.{}", where, gate.outputs.size())] = entry.place;
    gate.outputs.push_back(std::move(name));
  }
}

void PolicySections::read_parity_gate(const YamlNode& node, const std::string& where, Gate& gate) {
  read_gate_step(node, where, "parity", gate);
  const YamlNode* const outputs = node.find("outputs");
  if (outputs == nullptr) {
    fields_.add(node.place,
                "a parity gate needs 'outputs': {out/y.npy: {reference: base, rtol: 1e-3}}");
    return;
  }
  if (!fields_.open_free_map(*outputs, "outputs", kMaxCompared)) return;
  if (outputs->entries.empty()) fields_.add(outputs->place, "outputs names none");
  for (const YamlEntry& entry : outputs->entries) {
    places_[fmt::format("{}.outputs.{}", where, gate.parity.size())] = entry.place;
    gate.parity.push_back(read_parity_output(entry));
  }
}

ParityOutput PolicySections::read_parity_output(const YamlEntry& entry) {
  ParityOutput output;
  const YamlNode path{YamlNode::Kind::scalar, entry.place, entry.key, {}};
  fields_.read_path(path, "the output", PolicyFields::PathKind::file, output.path);
  const AllowedNames allowed{
      {"reference", "rtol", "atol", "ulp", "frobenius", "max_element", "types"}, {}};
  const YamlNode& node = entry.value;
  if (!fields_.open_map(node, fmt::format("output '{}'", entry.key), allowed)) return output;
  if (const YamlNode* const value = node.find("reference"))
    fields_.read_text(*value, "reference", 300, output.reference);
  else
    fields_.add(entry.place, "it needs 'reference': base, or step.output of a `from: base` step");
  output.tolerance = read_tolerance(node);
  const YamlNode* const types = node.find("types");
  if (types == nullptr || !fields_.open_map(*types, "types", kElementTypes)) return output;
  for (const YamlEntry& type : types->entries) {
    const AllowedNames numbers{{"rtol", "atol", "ulp", "frobenius", "max_element"}, {}};
    if (fields_.open_map(type.value, type.key, numbers))
      output.types[type.key] = read_tolerance(type.value);
  }
  return output;
}

Tolerance PolicySections::read_tolerance(const YamlNode& node) {
  Tolerance tolerance;
  const auto read = [&](std::string_view key, std::string& out) {
    if (const YamlNode* const value = node.find(key)) read_decimal(*value, key, out);
  };
  read("rtol", tolerance.rtol);
  read("atol", tolerance.atol);
  read("frobenius", tolerance.frobenius);
  read("max_element", tolerance.max_element);
  if (const YamlNode* const value = node.find("ulp")) {
    std::int64_t ulp = 0;
    fields_.read_integer(*value, "ulp", {0, kMostUlp}, ulp);
    tolerance.ulp = ulp;
  }
  // One wrong row hides in a norm.
  if (!tolerance.frobenius.empty() && tolerance.max_element.empty())
    fields_.add(node.place, "frobenius needs max_element beside it: a norm hides one wrong row");
  return tolerance;
}

void PolicySections::read_decimal(const YamlNode& node, std::string_view what, std::string& out) {
  std::string text;
  fields_.read_text(node, what, 32, text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (text.empty()) return;
  // Everything is within such a tolerance.
  constexpr double kMost = 1e6;
  if (!is_number || !(value >= 0) || value > kMost)
    fields_.add(node.place, fmt::format("{} is a number from 0 to 1e6, not '{}'", what, text));
  else
    out = std::move(text);
}

}  // namespace tasks
