#include "tasks/policy_yaml.h"

#include <algorithm>

#include <fmt/format.h>

#include "tasks/policy_rules.h"
#include "tasks/policy_yaml_sections.h"

namespace tasks {
namespace {

constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kDay = 24 * 3600 * kSecond;
constexpr std::int64_t kKiB = 1LL << 10U;
constexpr std::int64_t kMiB = 1LL << 20U;
constexpr std::int64_t kTiB = 1LL << 40U;

const std::vector<std::string_view> kLimitKeys{"cpus",   "memory",   "pids",  "disk",
                                               "inodes", "shm",      "files", "wall",
                                               "idle",   "cpu_time", "keep",  "output"};

}  // namespace

void PolicySections::read(const YamlNode& root) {
  const AllowedNames allowed{
      {"version", "environment", "subject", "owners", "limits", "steps", "gates", "promotion"},
      {"holdout"}};
  if (!fields_.open_map(root, "the policy", allowed)) return;
  for (const YamlEntry& entry : root.entries) places_[entry.key] = entry.place;
  read_version(root);
  if (const YamlNode* const node = root.find("environment")) read_environment_name(*node);
  if (const YamlNode* const node = root.find("subject"))
    fields_.read_globs(*node, "subject", policy_.subject);
  if (const YamlNode* const node = root.find("owners")) read_owners(*node);
  const YamlNode nothing{YamlNode::Kind::map, root.place, "", {}};
  const YamlNode* const limits = root.find("limits");
  read_limits(limits == nullptr ? nothing : *limits, "limits", limits_);
  policy_.limits = limits_.limits;
  if (limits != nullptr) read_total(*limits);
  const YamlNode* const steps = root.find("steps");
  if (steps == nullptr)
    fields_.add(root.place, "key 'steps' is missing: a policy has at least one step");
  else
    read_steps(*steps);
  const YamlNode* const gates = root.find("gates");
  if (gates == nullptr)
    fields_.add(root.place, "key 'gates' is missing: without a gate nothing would be judged");
  else
    read_gates(*gates);
  if (const YamlNode* const node = root.find("promotion")) read_promotion(*node);
}

Place PolicySections::place_of(std::string where) const {
  while (true) {
    const auto found = places_.find(where);
    if (found != places_.end()) return found->second;
    const std::size_t dot = where.rfind('.');
    if (dot == std::string::npos) return {};
    where.resize(dot);
  }
}

void PolicySections::read_version(const YamlNode& root) {
  const YamlNode* const node = root.find("version");
  if (node == nullptr)
    fields_.add(root.place, "key 'version' is missing: write version: 1");
  else if (node->kind != YamlNode::Kind::scalar || node->text != "1")
    fields_.add(node->place, "version is 1: no other is supported");
}

void PolicySections::read_environment_name(const YamlNode& node) {
  std::string name;
  fields_.read_text(node, "environment", 64, name);
  if (name.empty() || name == policy_.environment) return;
  fields_.add(node.place,
              fmt::format("environment '{}' is not supported yet; allowed: host", name));
}

void PolicySections::read_owners(const YamlNode& node) {
  if (!fields_.open_free_map(node, "owners", 100)) return;
  policy_.owners.clear();
  for (const YamlEntry& entry : node.entries) {
    fields_.check_glob(entry.place, entry.key);
    int approvals = 1;
    fields_.read_integer(entry.value, "the number of owners", {1, 10}, approvals);
    policy_.owners[entry.key] = approvals;
  }
}

void PolicySections::read_limits(const YamlNode& node, const std::string& where, LimitsRead& out) {
  const bool is_whole = where == "limits";
  AllowedNames allowed{kLimitKeys, {}};
  if (is_whole) allowed.names.emplace_back("total");
  if (!fields_.open_map(node, is_whole ? "limits" : "limits of a step", allowed)) return;
  for (const YamlEntry& entry : node.entries) places_[where + "." + entry.key] = entry.place;
  sandbox::Limits& limits = out.limits;
  if (const YamlNode* const value = node.find("cpus"))
    fields_.read_integer(*value, "cpus", {1, 1024}, limits.cpus);
  if (const YamlNode* const value = node.find("pids"))
    fields_.read_integer(*value, "pids", {1, 1'000'000}, limits.pids);
  if (const YamlNode* const value = node.find("inodes"))
    fields_.read_integer(*value, "inodes", {16, 100'000'000}, limits.inodes);
  if (const YamlNode* const value = node.find("files"))
    fields_.read_integer(*value, "files", {16, 1'000'000}, limits.files);
  if (const YamlNode* const value = node.find("wall"))
    fields_.read_duration(*value, "wall", {kSecond / 10, 7 * kDay}, limits.wall);
  if (const YamlNode* const value = node.find("idle"))
    fields_.read_duration(*value, "idle", {0, 7 * kDay}, limits.idle);
  if (const YamlNode* const value = node.find("cpu_time"))
    fields_.read_duration(*value, "cpu_time", {0, 7 * kDay}, limits.cpu_time);
  read_sizes(node, out);
}

void PolicySections::read_sizes(const YamlNode& node, LimitsRead& out) {
  sandbox::Limits& limits = out.limits;
  if (const YamlNode* const value = node.find("memory"))
    fields_.read_bytes(*value, "memory", {16 * kMiB, 64 * kTiB}, limits.memory);
  if (const YamlNode* const value = node.find("disk")) {
    fields_.read_bytes(*value, "disk", {kMiB, 64 * kTiB}, limits.disk);
    out.has_disk = true;
  }
  if (!out.has_disk) limits.disk = std::min(sandbox::Limits{}.disk, limits.memory);
  if (const YamlNode* const value = node.find("shm"))
    fields_.read_bytes(*value, "shm", {kMiB, 64 * kTiB}, limits.shm);
  else if (limits.shm == sandbox::Limits{}.shm)
    limits.shm = std::min(limits.shm, limits.memory);
  if (const YamlNode* const value = node.find("keep"))
    fields_.read_bytes(*value, "keep", {4 * kKiB, 64 * kMiB}, limits.keep);
  if (const YamlNode* const value = node.find("output"))
    fields_.read_bytes(*value, "output", {4 * kKiB, 1024 * kMiB}, limits.output);
}

void PolicySections::read_total(const YamlNode& node) {
  if (const YamlNode* const value = node.find("total"))
    fields_.read_duration(*value, "total", {kSecond, 7 * kDay}, policy_.total);
}

void PolicySections::read_promotion(const YamlNode& node) {
  const AllowedNames allowed{
      {"approvals", "strategy", "approval", "assurance", "self", "override", "notes"},
      {"reverify"}};
  if (!fields_.open_map(node, "promotion", allowed)) return;
  for (const YamlEntry& entry : node.entries) places_["promotion." + entry.key] = entry.place;
  Promotion& promotion = policy_.promotion;
  if (const YamlNode* const value = node.find("approvals"))
    fields_.read_integer(*value, "approvals", {0, 10}, promotion.approvals);
  std::size_t word = 0;
  if (const YamlNode* const value = node.find("strategy"))
    fields_.read_word(*value, "strategy", {{"rebase"}, {"merge", "squash"}}, word);
  if (const YamlNode* const value = node.find("approval")) {
    word = static_cast<std::size_t>(promotion.approval);
    fields_.read_word(*value, "approval", {{"clean-rebase", "exact"}, {}}, word);
    promotion.approval = static_cast<ApprovalRule>(word);
  }
  if (const YamlNode* const value = node.find("assurance")) {
    word = 0;
    fields_.read_word(*value, "assurance", {{"in-process", "out-of-process", "sealed"}, {}}, word);
    promotion.assurance = static_cast<Assurance>(word);
  }
  if (const YamlNode* const value = node.find("self")) {
    word = 1;
    fields_.read_word(*value, "self", {{"owner"}, {}}, word);
    promotion.self_owner = word == 0;
  }
  if (const YamlNode* const value = node.find("override")) {
    word = 1;
    fields_.read_word(*value, "override", {{"owners"}, {}}, word);
    promotion.override_owners = word == 0;
  }
  if (const YamlNode* const value = node.find("notes"))
    fields_.read_flag(*value, "notes", promotion.notes);
}

PolicyReading read_policy(std::string_view yaml) {
  PolicyProblems problems;
  PolicyReading reading;
  const std::optional<YamlNode> tree = read_yaml_tree(yaml, problems);
  PolicySections sections(problems);
  if (tree) sections.read(*tree);
  // The rules look at a whole policy: a part that could not be read would only mislead them.
  if (problems.empty()) {
    for (PolicyBreach& breach : find_breaches(sections.policy()))
      problems.add(sections.place_of(breach.where), std::move(breach.message));
  }
  if (problems.empty()) reading.policy = sections.policy();
  reading.problems = problems.take();
  return reading;
}

std::string format_problems(std::string_view file, const std::vector<PolicyProblem>& problems) {
  std::string text;
  for (const PolicyProblem& problem : problems)
    text += fmt::format("{}:{}:{}: {}\n", file, problem.line, problem.column, problem.message);
  return text;
}

}  // namespace tasks
