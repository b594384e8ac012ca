#include "tests/bench/staged_attempts.h"

#include <sys/stat.h>

#include "sandbox/host.h"
#include "sandbox/os/digest.h"
#include "sandbox/os/ids.h"
#include "tasks/plan.h"
#include "tasks/policy_json.h"
#include "tests/support/programs.h"

namespace bench {
namespace {

constexpr std::size_t kResultLimit = 16U << 20U;
constexpr os::Bytes kMemory{1ULL << 30U};

}  // namespace

os::Result<StagedAttempts> StagedAttempts::make(const std::string& prefix) {
  StagedAttempts attempts(TRY(os::TempDir::create("proofhouse-attempts")));
  if (::chmod(attempts.data_.path().c_str(), 0711) != 0) return os::fail_errno("chmod");
  for (const char* name : {"attempts", "trees", "layers"})
    TRY(os::make_directories(attempts.data_ / name, 0711));
  TRY(os::make_directories(attempts.data_ / ("trees/" + std::string(40, 'a')), 0755));
  attempts.executor_.data = attempts.data_.path();
  attempts.executor_.instance = prefix.substr(prefix.find('-') + 1);
  attempts.executor_.programs = tests::program_path("jail").parent_path();
  return attempts;
}

os::Result<runner::AttemptStart> StagedAttempts::stage(const tasks::Policy& policy) const {
  runner::AttemptStart start;
  start.attempt = tasks::AttemptId("a_" + os::make_ulid());
  start.cpus = sandbox::available_cpus();
  start.memory = kMemory;
  const std::string place = data_ / ("attempts/" + start.attempt.str());
  TRY(os::make_directories(place, 0711));
  TRY(os::make_directories(place + "/1/evidence", 0755));
  const std::string json = tasks::policy_to_json(policy);
  tasks::Plan plan;
  plan.instance = executor_.instance;
  plan.task = "t_" + os::make_ulid();
  plan.attempt = start.attempt.str();
  plan.created_at = plan.deadline_at = "2026-01-01T00:00:00Z";
  plan.intent = tasks::Intent::run;
  for (const tasks::Step& step : policy.steps) plan.steps.push_back(step.name);
  const std::string object(40, 'a');
  plan.change.base = plan.change.candidate = TRY(tasks::CommitId::parse(object));
  plan.change.base_tree = plan.change.tree = TRY(tasks::TreeId::parse(object));
  plan.change.policy_sha256 = os::sha256(json).hex();
  plan.policy_file = "policy.json";
  plan.cpus = start.cpus;
  plan.memory = start.memory;
  TRY(os::write_file_durably(place + "/1/policy.json", json, 0644));
  TRY(os::write_file_durably(place + "/1/plan.json", tasks::plan_to_json(plan), 0644));
  return start;
}

os::Result<tasks::Evidence> StagedAttempts::result(const tasks::AttemptId& attempt) const {
  tasks::Evidence evidence = TRY(tasks::evidence_from_json(
      TRY(os::read_file(data_ / ("attempts/" + attempt.str() + "/1/result.json"), kResultLimit))));
  if (evidence.status != tasks::AttemptStatus::completed)
    return os::fail(os::Code::internal,
                    "an attempt did not complete: " +
                        (evidence.infra ? evidence.infra->detail : std::string()));
  return evidence;
}

os::Result<void> StagedAttempts::remove(const tasks::AttemptId& attempt) const {
  return os::remove_tree(data_ / ("attempts/" + attempt.str()));
}

tasks::Policy policy_of(const std::string& script) {
  tasks::Policy policy;
  if (script.empty()) return policy;
  tasks::Step step;
  step.name = tasks::StepName("step");
  step.run = script;
  step.limits.memory = os::Bytes{512U << 20U};
  step.limits.disk = os::Bytes{64U << 20U};
  policy.steps.push_back(step);
  return policy;
}

}  // namespace bench
