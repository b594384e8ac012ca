#include "tasks/attempt.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "sandbox/os/failpoint.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process_info.h"
#include "sandbox/os/units.h"
#include "tasks/event_log.h"
#include "tasks/evidence_store.h"
#include "tasks/ingest_attempt.h"
#include "tasks/measured_pair.h"
#include "tasks/policy_json.h"
#include "tasks/step_runner.h"

namespace tasks {
namespace {

using std::chrono::steady_clock;
using std::chrono::system_clock;

constexpr std::size_t kPlanLimit = 16U << 20U;
constexpr std::size_t kEvidenceLimit = 256U << 20U;
// More runs than any policy can ask for: a planner that never ends is a fault of ours.
constexpr int kMaxRuns = 5000;

bool is_readable(int fd) {
  if (fd < 0) return false;
  pollfd poll_for{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&poll_for, 1, 0) == 1;
}

std::string cpu_model() {
  const os::Result<std::string> info = os::read_file("/proc/cpuinfo", 16U << 20U);
  if (!info) return {};
  const std::size_t at = info->find("model name");
  if (at == std::string::npos) return {};
  const std::size_t from = info->find(": ", at);
  return info->substr(from + 2, info->find('\n', from) - from - 2);
}

Machine this_machine(const AttemptContext& context) {
  utsname names{};
  ::uname(&names);
  return Machine{.host = names.nodename,
                 .kernel = names.release,
                 .cpu = cpu_model(),
                 .environment_sha256 = "",
                 .proofhouse = context.version};
}

// Base evidence kept from an earlier attempt, with its parsed reports loaded.
os::Result<std::vector<RunRecord>> load_carried(const Plan& plan, int directory,
                                                const EvidenceStore& store) {
  if (plan.base_file.empty()) return std::vector<RunRecord>{};
  Evidence kept =
      TRY(evidence_from_json(TRY(os::read_file_at(directory, plan.base_file, kEvidenceLimit))));
  // Of a rerun the outputs count, and those are not kept.
  std::erase_if(kept.runs, [](const RunRecord& run) {
    return run.key.side != Side::base || run.key.rerun.has_value();
  });
  for (RunRecord& run : kept.runs) {
    run.carried = true;
    for (ReportRecord& report : run.reports)
      if (!report.parsed_sha256.empty())
        report.parsed = TRY(report_from_json(TRY(store.get(report.parsed_sha256, kPlanLimit))));
  }
  return std::move(kept.runs);
}

// Puts the runs of a pair into an order that nobody can foresee (Fisher and Yates); every order is
// equally likely, to one part in 2^24.
void shuffle(std::vector<RunKey>& keys) {
  for (std::size_t left = keys.size(); left > 1; --left) {
    const auto bytes = os::random_bytes(4);
    std::uint32_t number = 0;
    for (const auto byte : bytes) number = number << 8U | static_cast<std::uint8_t>(byte);
    std::swap(keys[left - 1], keys[number % left]);
  }
}

class Execution {
 public:
  Execution(const AttemptContext& context, const Plan& plan, Evidence& evidence)
      : context_(context), plan_(plan), evidence_(evidence) {}

  // Obeys the planner until it has nothing more, is cancelled, or a fault of ours ends it.
  os::Result<void> run(sandbox::JailClient& jail, EvidenceStore& store, EventLog& events) {
    const Policy policy = TRY(policy_from_json(
        TRY(os::read_file_at(context_.attempt_directory, plan_.policy_file, kPlanLimit))));
    const std::vector<RunRecord> carried =
        TRY(load_carried(plan_, context_.attempt_directory, store));
    evidence_.runs = carried;
    sandbox::gpu::DeskClient gpus{os::Fd(context_.executor_fd)};
    StepRunner runner({.plan = plan_,
                       .policy = policy,
                       .jail = jail,
                       .store = store,
                       .events = events,
                       .attempt_directory = context_.attempt_directory,
                       .cancel_fd = context_.cancel_fd,
                       .gpus = gpus,
                       .deadline = steady_clock::now() + policy.total},
                      carried);
    for (int runs = 0; runs < kMaxRuns; ++runs) {
      if (is_readable(context_.cancel_fd)) {
        evidence_.status = AttemptStatus::cancelled;
        return {};
      }
      const Instruction instruction = context_.planner(policy, evidence_);
      if (std::holds_alternative<RunNothing>(instruction)) return runner.keep_base_layer();
      TRY(obey(instruction, runner, events));
      if (evidence_.status != AttemptStatus::completed) return {};
    }
    return os::fail(os::Code::internal, "the plan did not end after 5000 runs");
  }

 private:
  os::Result<void> obey(const Instruction& instruction, StepRunner& runner, EventLog& events) {
    if (const auto* once = std::get_if<RunOnce>(&instruction))
      return take(TRY(runner.run(once->key, 0)));
    if (const auto* comparison = std::get_if<RunComparison>(&instruction))
      return compare(comparison->key, runner);
    const auto& pair = std::get<RunPair>(instruction);
    if (pair.clock == GateClock::report) {
      std::vector<RunKey> keys{{Side::base, Side::base, pair.step, pair.pair, pair.variant},
                               {pair.other, pair.other, pair.step, pair.pair, pair.variant}};
      shuffle(keys);
      TRY(take_all(keys, runner, pair.only));
    } else {
      TRY(measure(pair, runner));
    }
    if (evidence_.status != AttemptStatus::completed) return {};
    events.append("pair.finished",
                  {{"step", pair.step.str()}, {"pair", std::to_string(pair.pair)}});
    return {};
  }

  os::Result<void> compare(const ComparisonKey& key, StepRunner& runner) {
    const RunRecord* const left = evidence_.find(key.left);
    const RunRecord* const right = evidence_.find(key.right);
    if (left == nullptr || right == nullptr)
      return os::fail(os::Code::internal, "a comparison of runs that were not made");
    std::optional<Comparison> comparison = TRY(runner.compare(key, left->id, right->id));
    if (comparison)
      evidence_.comparisons.push_back({key, std::move(*comparison)});
    else
      evidence_.status = AttemptStatus::cancelled;
    return {};
  }

  // Fresh inputs for both sides, the four runs whose cost is measured in a random order, then the
  // judge of what the other side answered. The base's own answers are not judged: they are not what
  // could deceive.
  os::Result<void> measure(const RunPair& pair, StepRunner& runner) {
    const MeasuredSteps around = measured_steps(runner.policy(), pair.step);
    std::vector<RunKey> before;
    for (const StepName& step : around.before)
      before.push_back(judge_key(step, pair.other, pair.pair));
    TRY(take_all(before, runner));
    // What could not be made cannot be shown to the next: the gate says whose fault it is.
    if (!are_usable(before)) return {};
    std::vector<RunKey> legs;
    for (const Side side : {Side::base, pair.other})
      for (const int leg : {0, 1}) legs.push_back(leg_key(pair.step, side, pair.pair, leg));
    shuffle(legs);
    TRY(take_all(legs, runner));
    if (!are_usable(legs)) return {};
    std::vector<RunKey> after;
    for (const StepName& step : around.after)
      after.push_back(judge_key(step, pair.other, pair.pair));
    return take_all(after, runner);
  }

  bool are_usable(const std::vector<RunKey>& keys) const {
    return std::ranges::all_of(keys, [this](const RunKey& key) {
      const RunRecord* const record = evidence_.find(key);
      return record != nullptr && record->outcome.is_success() &&
             std::ranges::all_of(record->outputs, &std::string::empty, &OutputRecord::error);
    });
  }

  // Runs each that has not run yet (two gates may share their inputs), while all goes well.
  os::Result<void> take_all(const std::vector<RunKey>& keys, StepRunner& runner,
                            const std::vector<std::string>& only = {}) {
    int order = 0;
    for (const RunKey& key : keys) {
      if (evidence_.status != AttemptStatus::completed) return {};
      if (evidence_.find(key) == nullptr) TRY(take(TRY(runner.run(key, order, only))));
      ++order;
    }
    return {};
  }

  os::Result<void> take(std::vector<RunRecord> records) {
    std::optional<sandbox::Outcome> failed;
    for (RunRecord& record : records) {
      if (record.outcome.kind == sandbox::OutcomeKind::cancelled)
        evidence_.status = AttemptStatus::cancelled;
      if (record.outcome.kind == sandbox::OutcomeKind::setup_failed) failed = record.outcome;
      evidence_.runs.push_back(std::move(record));
    }
    if (!failed) return {};
    return std::unexpected(
        os::Error{os::Code::unavailable, sandbox::describe(*failed), failed->error_number});
  }

  const AttemptContext& context_;
  const Plan& plan_;
  Evidence& evidence_;
};

os::Result<void> execute(const AttemptContext& context, const Plan& plan, sandbox::JailClient& jail,
                         Evidence& evidence) {
  EvidenceStore store = TRY(EvidenceStore::open(context.attempt_directory));
  EventLog events = TRY(EventLog::open(context.attempt_directory, plan.attempt, plan.fence));
  events.append("attempt.started", {{"pid", std::to_string(::getpid())}});
  os::Result<void> done;
  if (plan.kind == AttemptKind::ingest) {
    os::Result<IngestResult> ingested =
        ingest_change(plan, jail, context.attempt_directory, context.cancel_fd);
    if (ingested) {
      if (ingested->refusal) evidence.status = AttemptStatus::refused;
      evidence.change = std::move(*ingested);
    } else {
      done = std::unexpected(ingested.error());
    }
  } else {
    done = Execution(context, plan, evidence).run(jail, store, events);
  }
  events.append("attempt.stopping", {{"why", done ? "done" : done.error().message}});
  return done;
}

Evidence begin_evidence(const AttemptContext& context, const Plan& plan) {
  Evidence evidence;
  evidence.instance = plan.instance;
  evidence.task = plan.task;
  evidence.attempt = plan.attempt;
  evidence.fence = plan.fence;
  evidence.started_at = os::format_time(system_clock::now());
  evidence.intent = plan.intent;
  evidence.claims = plan.claims;
  evidence.steps = plan.steps;
  evidence.change = plan.change;
  evidence.policy_sha256 = plan.change.policy_sha256;
  evidence.machine = this_machine(context);
  evidence.earlier_tests = plan.earlier_tests;
  evidence.calibrates = plan.calibrates;
  return evidence;
}

}  // namespace

os::Result<os::Fd> lock_attempt(int attempt_directory) {
  os::Fd lock = TRY(os::open_beneath(attempt_directory, "lock", O_RDWR | O_CREAT, 0640));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return os::fail_errno("lock attempt");
  const std::string content = std::to_string(::getpid()) + " " +
                              std::to_string(TRY(os::process_start_time(::getpid()))) + "\n";
  if (::ftruncate(lock.get(), 0) != 0) return os::fail_errno("write lock");
  TRY(os::write_all(lock.get(), content));
  return lock;
}

os::Result<AttemptEnd> run_attempt(const AttemptContext& context, sandbox::JailClient& jail) {
  const os::Fd lock = TRY(lock_attempt(context.attempt_directory));
  const Plan plan = TRY(
      plan_from_json(TRY(os::read_file_at(context.attempt_directory, "plan.json", kPlanLimit))));
  const std::string claim = "claim." + std::to_string(plan.fence);
  if (::mkdirat(context.attempt_directory, claim.c_str(), 0750) != 0)
    return errno == EEXIST ? os::Result<AttemptEnd>(AttemptEnd::claimed)
                           : os::fail_errno("claim attempt");
  os::failpoint("claimed");
  Evidence evidence = begin_evidence(context, plan);
  const os::Result<void> done = execute(context, plan, jail, evidence);
  if (!done && done.error().code == os::Code::cancelled) evidence.status = AttemptStatus::cancelled;
  if (!done && evidence.status == AttemptStatus::completed) {
    evidence.status = AttemptStatus::infra;
    evidence.infra = InfraFault{.step = "attempt",
                                .code = std::string(os::code_name(done.error().code)),
                                .error_number = done.error().sys_errno,
                                .detail = done.error().message,
                                .retryable = done.error().code != os::Code::internal};
  }
  evidence.finished_at = os::format_time(system_clock::now());
  TRY(os::write_file_durably_at(context.attempt_directory, "result.json",
                                evidence_to_json(evidence)));
  os::failpoint("result-renamed");
  return AttemptEnd::finished;
}

}  // namespace tasks
