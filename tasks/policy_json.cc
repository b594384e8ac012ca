#include "tasks/policy_json.h"

#include "tasks/comparison_json.h"
#include "tasks/shared_json.h"

namespace tasks {
namespace archive {

template <>
struct Words<Inconclusive> {
  static constexpr std::array<std::string_view, 3> kAll{"block", "ask", "pass"};
};
template <>
struct Words<Strategy> {
  static constexpr std::array<std::string_view, 1> kAll{"rebase"};
};
template <>
struct Words<ApprovalRule> {
  static constexpr std::array<std::string_view, 2> kAll{"clean-rebase", "exact"};
};

template <>
struct Fields<sandbox::Limits> {
  static void visit(auto& archive, auto& limits) {
    archive("cpus", limits.cpus);
    archive("memory", limits.memory);
    archive("pids", limits.pids);
    archive("disk", limits.disk);
    archive("inodes", limits.inodes);
    archive("shm", limits.shm);
    archive("files", limits.files);
    archive("wall_ms", limits.wall);
    archive("idle_ms", limits.idle);
    archive("cpu_time_ms", limits.cpu_time);
    archive("keep", limits.keep);
    archive("output", limits.output);
  }
};

template <>
struct Fields<ReportSpec> {
  static void visit(auto& archive, auto& report) {
    archive("format", report.format);
    archive("path", report.path);
  }
};

template <>
struct Fields<Need> {
  static void visit(auto& archive, auto& need) {
    archive("step", need.step);
    archive("output", need.output);
  }
};

template <>
struct Fields<CallCounts> {
  static void visit(auto& archive, auto& calls) {
    archive("fewer", calls.fewer);
    archive("more", calls.more);
  }
};

template <>
struct Fields<GpuSpec> {
  static void visit(auto& archive, auto& gpu) {
    archive("count", gpu.count);
    archive("min_memory", gpu.min_memory);
    archive("exclusive", gpu.exclusive);
  }
};

template <>
struct Fields<Step> {
  static void visit(auto& archive, auto& step) {
    archive("name", step.name);
    archive("run", step.run);
    archive("from_base", step.from_base);
    archive("needs", step.needs);
    archive("reports", step.reports);
    archive("outputs", step.outputs);
    archive("environment", step.environment);
    archive("limits", step.limits);
    archive("gpu", step.gpu);
    archive.added("calls", step.calls);
    archive.added("interact", step.interact);
  }
};

template <>
struct Fields<Share> {
  static void visit(auto& archive, auto& share) { archive("millionths", share.millionths); }
};

template <>
struct Fields<Gate> {
  static void visit(auto& archive, auto& gate) {
    archive("name", gate.name);
    archive("kind", gate.kind);
    archive("steps", gate.steps);
    archive("always", gate.always);
    archive.added("reruns", gate.reruns);
    archive("tolerance", gate.tolerance);
    archive.added("clock", gate.clock);
    archive("inconclusive", gate.inconclusive);
    archive.added("accept_mde", gate.accept_mde);
    archive.added("max_spread", gate.max_spread);
    archive.added("budget_ms", gate.budget);
    archive("max_lines", gate.max_lines);
    archive("max_files", gate.max_files);
    archive("forbid", gate.forbid);
    archive.added("outputs", gate.outputs);
    archive.added("runs", gate.runs);
    archive.added("parity", gate.parity);
  }
};

template <>
struct Fields<Promotion> {
  static void visit(auto& archive, auto& promotion) {
    archive("approvals", promotion.approvals);
    archive("strategy", promotion.strategy);
    archive("approval", promotion.approval);
    archive("assurance", promotion.assurance);
    archive("self_owner", promotion.self_owner);
    archive.added("override_owners", promotion.override_owners);
    archive.added("notes", promotion.notes);
  }
};

template <>
struct Fields<Policy> {
  static void visit(auto& archive, auto& policy) {
    archive.schema(2, 1);
    archive("environment", policy.environment);
    archive("subject", policy.subject);
    archive("owners", policy.owners);
    archive("limits", policy.limits);
    archive("total_ms", policy.total);
    archive("steps", policy.steps);
    archive("gates", policy.gates);
    archive("promotion", policy.promotion);
  }
};

}  // namespace archive

std::string policy_to_json(const Policy& policy) { return archive::write_record(policy); }

os::Result<Policy> policy_from_json(std::string_view json) {
  return archive::read_record<Policy>(json, "policy");
}

}  // namespace tasks
