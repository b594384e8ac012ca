#include "tests/runner/fake_executor.h"

#include <unistd.h>

#include <thread>

#include "sandbox/os/digest.h"
#include "sandbox/os/files.h"
#include "tasks/ingest/take.h"
#include "tasks/plan.h"
#include "tasks/policy_json.h"

namespace tests {
namespace {

std::string key_of(const std::string& attempt, std::int64_t fence) {
  return attempt + "." + std::to_string(fence);
}

tasks::Evidence evidence_of(const tasks::Plan& plan) {
  tasks::Evidence evidence;
  evidence.instance = plan.instance;
  evidence.task = plan.task;
  evidence.attempt = plan.attempt;
  evidence.fence = plan.fence;
  evidence.started_at = plan.created_at;
  evidence.finished_at = plan.created_at;
  evidence.intent = plan.intent;
  evidence.claims = plan.claims;
  evidence.steps = plan.steps;
  evidence.change = plan.change;
  evidence.policy_sha256 = plan.change.policy_sha256;
  return evidence;
}

}  // namespace

// The door to the machine that a service owns.
class FakeExecutor : public runner::Executor {
 public:
  explicit FakeExecutor(FakeMachine& machine) : machine_(machine) {}

  os::Result<runner::ExecutorProbe> probe() override {
    TRY(check());
    return machine_.probe;
  }
  os::Result<void> start(const runner::AttemptStart& start) override {
    TRY(check());
    return machine_.start(start);
  }
  os::Result<std::vector<runner::AttemptStatusReport>> list() override {
    TRY(check());
    const std::scoped_lock lock(machine_.mutex_);
    std::vector<runner::AttemptStatusReport> reports;
    for (const auto& [key, report] : machine_.known_) reports.push_back(report);
    return reports;
  }
  os::Result<void> cancel(const tasks::AttemptId& attempt, std::int64_t fence,
                          std::chrono::milliseconds) override {
    TRY(check());
    const std::scoped_lock lock(machine_.mutex_);
    const auto found = machine_.known_.find(key_of(attempt.str(), fence));
    if (found == machine_.known_.end()) return {};
    found->second.state = runner::AttemptState::ended;
    machine_.changes_.push_back(found->second);
    return {};
  }
  os::Result<void> remove(const tasks::AttemptId& attempt, std::int64_t fence) override {
    TRY(check());
    {
      const std::scoped_lock lock(machine_.mutex_);
      const auto found = machine_.known_.find(key_of(attempt.str(), fence));
      if (found != machine_.known_.end() && found->second.state == runner::AttemptState::running)
        return os::fail(os::Code::conflict, "still runs");
      machine_.known_.erase(key_of(attempt.str(), fence));
    }
    TRY(os::remove_tree(machine_.path_of(attempt.str(), fence)));
    ::rmdir((machine_.data_ + "/attempts/" + attempt.str()).c_str());
    return {};
  }
  os::Result<void> set_gpu_cordon(const std::string& uuid, bool is_cordoned,
                                  const std::string& reason) override {
    for (sandbox::gpu::GpuStatus& gpu : machine_.probe.gpus) {
      if (gpu.uuid != uuid) continue;
      gpu.is_cordoned = is_cordoned;
      gpu.reason = reason;
      return {};
    }
    return os::fail(os::Code::not_found, "no GPU " + uuid);
  }

  os::Result<std::vector<runner::AttemptStatusReport>> wait_changes(
      std::chrono::milliseconds wait) override {
    const auto deadline = std::chrono::steady_clock::now() + wait;
    while (true) {
      {
        const std::scoped_lock lock(machine_.mutex_);
        if (machine_.is_down_) return os::fail(os::Code::unavailable, "the executor is gone");
        if (!machine_.changes_.empty()) return std::exchange(machine_.changes_, {});
      }
      if (std::chrono::steady_clock::now() >= deadline)
        return std::vector<runner::AttemptStatusReport>{};
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

 private:
  os::Result<void> check() {
    const std::scoped_lock lock(machine_.mutex_);
    if (machine_.is_down_) return os::fail(os::Code::unavailable, "the executor is gone");
    return {};
  }
  FakeMachine& machine_;
};

std::unique_ptr<runner::Executor> FakeMachine::executor() {
  return std::make_unique<FakeExecutor>(*this);
}

int FakeMachine::verified() const {
  const std::scoped_lock lock(mutex_);
  return verified_;
}

int FakeMachine::ingested() const {
  const std::scoped_lock lock(mutex_);
  return ingested_;
}

int FakeMachine::carried() const {
  const std::scoped_lock lock(mutex_);
  return carried_;
}

void FakeMachine::set_down(bool is_down) {
  const std::scoped_lock lock(mutex_);
  is_down_ = is_down;
}

void FakeMachine::forget_all() {
  const std::scoped_lock lock(mutex_);
  known_.clear();
  running_.clear();
}

void FakeMachine::finish_running() {
  std::vector<runner::AttemptStart> running;
  {
    const std::scoped_lock lock(mutex_);
    running = std::exchange(running_, {});
  }
  for (const runner::AttemptStart& start : running) {
    const std::string directory = path_of(start.attempt.str(), start.fence);
    const auto plan = tasks::plan_from_json(*os::read_file(directory + "/plan.json"));
    os::check(plan.has_value() && verify(*plan, directory, false).has_value(), "verified");
    note(start, runner::AttemptState::ended);
  }
}

std::string FakeMachine::path_of(const std::string& attempt, std::int64_t fence) const {
  return data_ + "/attempts/" + attempt + "/" + std::to_string(fence);
}

void FakeMachine::note(const runner::AttemptStart& start, runner::AttemptState state) {
  const std::scoped_lock lock(mutex_);
  const runner::AttemptStatusReport report{
      .attempt = start.attempt, .fence = start.fence, .state = state, .detail = {}};
  known_[key_of(start.attempt.str(), start.fence)] = report;
  if (state != runner::AttemptState::running) changes_.push_back(report);
}

os::Result<void> FakeMachine::start(const runner::AttemptStart& start) {
  {
    const std::scoped_lock lock(mutex_);
    if (known_.contains(key_of(start.attempt.str(), start.fence))) return {};
  }
  const std::string directory = path_of(start.attempt.str(), start.fence);
  const tasks::Plan plan = TRY(tasks::plan_from_json(TRY(os::read_file(directory + "/plan.json"))));
  note(start, runner::AttemptState::running);
  if (plan.kind == tasks::AttemptKind::ingest) {
    TRY(take_in(plan, directory, start.repository));
    note(start, runner::AttemptState::ended);
    return {};
  }
  int number = 0;
  {
    const std::scoped_lock lock(mutex_);
    number = ++verified_;
  }
  const Ending how = ending(number);
  if (how == Ending::keeps_running) {
    const std::scoped_lock lock(mutex_);
    running_.push_back(start);
    return {};
  }
  if (how != Ending::ends_without_result) TRY(verify(plan, directory, how == Ending::has_fault));
  note(start, runner::AttemptState::ended);
  return {};
}

os::Result<void> FakeMachine::take_in(const tasks::Plan& plan, const std::string& directory,
                                      const std::string& repository) {
  {
    const std::scoped_lock lock(mutex_);
    ++ingested_;
  }
  // Objects only: what a jail shows at /in/repo.
  if (::symlink(repository.c_str(), (directory + "/in/repo").c_str()) != 0)
    return os::fail_errno("link the repository");
  TRY(os::make_directories(directory + "/out"));
  tasks::Evidence evidence = evidence_of(plan);
  evidence.change = TRY_CONTEXT(
      tasks::ingest::take(plan, {.in = directory + "/in", .out = directory + "/out"}), "take");
  if (evidence.change.refusal) evidence.status = tasks::AttemptStatus::refused;
  TRY(publish_trees(directory + "/out/trees"));
  return os::write_file_durably(directory + "/result.json", tasks::evidence_to_json(evidence));
}

os::Result<void> FakeMachine::publish_trees(const std::string& written) const {
  // A refused change wrote none.
  if (::access(written.c_str(), F_OK) != 0) return {};
  for (const std::string& tree : TRY(os::list_directory(written)))
    if (::rename((written + "/" + tree).c_str(), (data_ + "/trees/" + tree).c_str()) != 0 &&
        errno != ENOTEMPTY && errno != EEXIST)
      return os::fail_errno("publish tree " + tree);
  return {};
}

os::Result<void> FakeMachine::carry(const tasks::Plan& plan, const std::string& directory,
                                    tasks::Evidence& evidence) {
  if (plan.base_file.empty()) return {};
  const tasks::Evidence base =
      TRY(tasks::evidence_from_json(TRY(os::read_file(directory + "/" + plan.base_file))));
  for (tasks::RunRecord run : base.runs) {
    run.carried = true;
    for (tasks::ReportRecord& report : run.reports)
      report.parsed = TRY(tasks::report_from_json(
          TRY(os::read_file(directory + "/evidence/" + report.parsed_sha256))));
    evidence.runs.push_back(std::move(run));
  }
  const std::scoped_lock lock(mutex_);
  carried_ += static_cast<int>(evidence.runs.size());
  return {};
}

os::Result<void> FakeMachine::verify(const tasks::Plan& plan, const std::string& directory,
                                     bool has_fault) {
  ScriptedTask task(
      TRY(tasks::policy_from_json(TRY(os::read_file(directory + "/" + plan.policy_file)))));
  task.evidence = evidence_of(plan);
  TRY(os::make_directories(directory + "/evidence"));
  if (has_fault) {
    task.evidence.status = tasks::AttemptStatus::infra;
    task.evidence.infra = tasks::InfraFault{.step = "mount",
                                            .code = "unavailable",
                                            .error_number = 5,
                                            .detail = "no luck",
                                            .retryable = true};
  } else {
    TRY(carry(plan, directory, task.evidence));
    script(task);
    task.run();
    if (keeps_layers) TRY(os::make_directories(data_ + "/layers/" + plan.layer));
  }
  for (tasks::RunRecord& run : task.evidence.runs) {
    if (run.carried) continue;
    const std::string log = "log of " + run.id;
    run.log.head_sha256 = os::sha256(log).hex();
    run.log.bytes = static_cast<std::int64_t>(log.size());
    TRY(os::write_file_durably(directory + "/evidence/" + run.log.head_sha256, log));
    for (tasks::ReportRecord& report : run.reports) {
      const std::string parsed = tasks::report_to_json(report.parsed);
      report.parsed_sha256 = os::sha256(parsed).hex();
      report.raw_sha256 = report.parsed_sha256;
      TRY(os::write_file_durably(directory + "/evidence/" + report.parsed_sha256, parsed));
    }
  }
  return os::write_file_durably(directory + "/result.json", tasks::evidence_to_json(task.evidence));
}

}  // namespace tests
