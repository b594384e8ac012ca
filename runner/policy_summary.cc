#include "runner/policy_summary.h"

#include <nlohmann/json.hpp>

#include "sandbox/os/digest.h"
#include "sandbox/os/units.h"
#include "sandbox/wire.h"
#include "tasks/policy_json.h"

namespace runner {
namespace {

using nlohmann::json;

json step_of(const tasks::Step& step) {
  json needs = json::array();
  for (const tasks::Need& need : step.needs)
    needs.push_back(need.output.empty() ? need.step.str() : need.step.str() + "." + need.output);
  return {{"name", step.name.str()},
          {"run", step.run},
          {"from_base", step.from_base},
          {"needs", std::move(needs)},
          {"limits",
           {{"cpus", step.limits.cpus},
            {"memory", step.limits.memory.count},
            {"wall_ms", step.limits.wall.count()}}},
          {"gpu", step.gpu ? json(step.gpu->count) : json(nullptr)}};
}

json gate_of(const tasks::Gate& gate) {
  json steps = json::array();
  for (const tasks::StepName& step : gate.steps) steps.push_back(step.str());
  return {{"name", gate.name.str()},
          {"kind", tasks::gate_kind_name(gate.kind)},
          {"steps", std::move(steps)}};
}

}  // namespace

std::int64_t wall_ms_of(const store::AttemptRow& attempt) {
  const auto from = os::parse_time(attempt.started_at);
  const auto to = os::parse_time(attempt.finished_at);
  if (!from || !to) return 0;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*to - *from).count();
}

os::Result<std::string> summarise_policy(const Project& project, const std::string& policy_json,
                                         const std::vector<store::AttemptRow>& last) {
  const tasks::Policy policy = TRY(tasks::policy_from_json(policy_json));
  json steps = json::array();
  for (const tasks::Step& step : policy.steps) steps.push_back(step_of(step));
  json gates = json::array();
  for (const tasks::Gate& gate : policy.gates) gates.push_back(gate_of(gate));
  json summary{{"schema", 1},
               {"project", project.name},
               {"target", project.target},
               {"policy_sha256", os::sha256(policy_json).hex()},
               {"may_edit", policy.subject},
               {"owners", policy.owners},
               {"steps", std::move(steps)},
               {"gates", std::move(gates)},
               {"total_ms", policy.total.count()},
               {"approvals", policy.promotion.approvals},
               {"last", nullptr}};
  if (!last.empty())
    summary["last"] = {{"attempt", last.back().id}, {"wall_ms", wall_ms_of(last.back())}};
  return sandbox::dump_json(summary);
}

}  // namespace runner
