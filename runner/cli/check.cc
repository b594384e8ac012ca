// check: the whole job in a repository, without a server.
//
// Judges commits, never the working tree: what is tested is the head's tree, taken in by a jailed
// ingest from the repository's objects, under the base's policy. Needs root for its own executor
// and jails; keeps trees and builds of bases in the cache.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gates/gate.h"
#include "runner/cli/check_attempt.h"
#include "runner/cli/check_cache.h"
#include "runner/cli/check_report.h"
#include "runner/cli/check_source.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/private_executor.h"
#include "runner/cli/session.h"
#include "runner/cli/terminal.h"
#include "runner/executor/local.h"
#include "runner/limits.h"
#include "runner/scheduler/attempt_stage.h"
#include "runner/scheduler/task_needs.h"
#include "runner/task_report.h"
#include "sandbox/os/files.h"
#include "sandbox/os/units.h"
#include "tasks/policy_json.h"

namespace runner::cli {
namespace {

constexpr std::size_t kLogLimit = 16U << 20U;
constexpr os::Bytes kIngestMemory{2ULL << 30U};
// Lines of a failed step's output that are shown.
constexpr std::size_t kShownLines = 40;

// What a check works with.
struct Check {
  const CheckCommand& command;
  CheckSource source;
  std::string held_policy;
  CheckCache cache;
  std::unique_ptr<LocalExecutor> executor;
  ExecutorProbe probe;
  std::string instance;
  StatusLine status;
};

os::Result<std::string> held_policy(const CheckCommand& command) {
  if (command.policy_file.empty()) return std::string();
  return os::read_file(command.policy_file, kPolicyFileLimit);
}

std::vector<tasks::TreeId> known_trees(const CheckCache& cache) {
  std::vector<tasks::TreeId> trees;
  if (const auto names = os::list_directory(cache.path() + "/trees"))
    for (const std::string& name : *names)
      if (const auto tree = tasks::TreeId::parse(name)) trees.push_back(*tree);
  return trees;
}

tasks::Claims claims_of(const CheckCommand& command) {
  tasks::Claims claims{
      .text = command.claim_text, .fixes = command.fixes, .removes = command.removes, .faster = {}};
  for (const std::string& claim : command.faster) {
    const std::size_t at = claim.rfind('=');
    // The command line has checked the form.
    claims.faster[claim.substr(0, at)] = *os::parse_percent_millionths(claim.substr(at + 1));
  }
  return claims;
}

os::Result<std::unique_ptr<LocalExecutor>> start_executor(const CheckCommand& command,
                                                          const Config& config) {
  ExecutorOptions options = TRY(executor_options(config, ::geteuid(), ::getegid()));
  options.gaps_allowed = command.allow_gaps;
  return LocalExecutor::over(TRY(start_private_executor(options)));
}

// Takes the commits in. The policy's canonical JSON comes with the answer.
struct TakenIn {
  tasks::IngestResult change;
  std::string policy_json;
};

os::Result<TakenIn> take_in(Check& check) {
  check.status.show("taking the change in");
  CheckAttempt attempt = TRY(CheckAttempt::create(check.cache, *check.executor));
  tasks::Plan plan;
  plan.instance = check.instance;
  plan.task = "t_check";
  plan.kind = tasks::AttemptKind::ingest;
  plan.intent = tasks::Intent::verify;
  plan.ingest.source = tasks::IngestSpec::Source::commit;
  plan.ingest.commit = check.source.head;
  plan.ingest.base = check.source.base;
  plan.ingest.tip = check.source.tip;
  plan.ingest.have_trees = known_trees(check.cache);
  if (!check.held_policy.empty()) {
    plan.ingest.policy_file = "in/policy.yaml";
    TRY(attempt.stage(plan.ingest.policy_file, check.held_policy));
  }
  AttemptStart start;
  start.memory = kIngestMemory;
  start.repository = check.source.git_dir;
  const tasks::Evidence evidence =
      TRY(attempt.run(std::move(plan), std::move(start), check.status));
  if (evidence.infra) return os::fail(os::Code::unavailable, evidence.infra->detail);
  TakenIn taken{evidence.change, {}};
  if (!taken.change.refusal)
    taken.policy_json = TRY(attempt.read("out/policy.json", kPolicyJsonLimit));
  return taken;
}

// The first CPUs that may be leased, as many as the policy's largest step wants.
os::Result<AttemptStart> lease(const tasks::Policy& policy, const ExecutorProbe& probe) {
  store::TaskRow needs;
  needs.intent = tasks::Intent::verify;
  TRY(fill_needs(needs, policy, probe));
  AttemptStart start;
  start.memory = os::Bytes{static_cast<std::uint64_t>(needs.memory)};
  const std::size_t count =
      std::min(probe.cpus.size(), static_cast<std::size_t>(std::max(needs.cpus, 1)));
  start.cpus.assign(probe.cpus.begin(), probe.cpus.begin() + static_cast<std::ptrdiff_t>(count));
  return start;
}

// The last lines of a text, each marked, so that none can be taken for ours or for a CI system's
// command.
std::string last_lines(std::string_view text, std::size_t count) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::size_t from = text.size();
  for (std::size_t i = 0; i < count && from != text.npos && from > 0; ++i)
    from = text.rfind('\n', from - 1);
  text.remove_prefix(from == text.npos || from >= text.size() ? 0 : from + 1);
  std::string marked;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    marked += "\n| ";
    marked += text.substr(0, end + 1);
    if (marked.ends_with('\n')) marked.pop_back();
    text.remove_prefix(end + 1);
  }
  return marked;
}

// The end of what the run printed that the reason rests on.
void show_log(const CheckAttempt& attempt, const tasks::Evidence& evidence,
              const gates::Judgement& judgement) {
  const auto run =
      std::ranges::find(evidence.runs, judgement.reason.evidence, &tasks::RunRecord::id);
  if (judgement.reason.evidence.empty() || run == evidence.runs.end()) return;
  const std::string& blob =
      run->log.tail_sha256.empty() ? run->log.head_sha256 : run->log.tail_sha256;
  if (blob.empty()) return;
  const os::Result<std::string> log = attempt.read("evidence/" + blob, kLogLimit);
  if (!log || log->empty()) return;
  say("the end of what step " + run->key.step.str() + " printed:" + last_lines(*log, kShownLines));
}

// GitHub shows what is appended to this file, up to 1 MiB: more, and it shows nothing.
os::Result<void> add_step_summary(std::string markdown) {
  constexpr std::size_t kMost = 1U << 20U;
  const char* const path = std::getenv("GITHUB_STEP_SUMMARY");
  if (path == nullptr || *path == '\0') return {};
  if (markdown.size() > kMost - 1000)
    markdown = markdown.substr(0, markdown.rfind('\n', kMost - 1000)) + "\n\nThe rest was cut.\n";
  const os::Fd file =
      TRY_CONTEXT(os::open_file(path, O_WRONLY | O_APPEND | O_CREAT, 0644), "GITHUB_STEP_SUMMARY");
  return os::write_all(file.get(), markdown);
}

os::Result<int> judge(Check& check, const CheckAttempt& attempt, tasks::Evidence& evidence,
                      const tasks::Policy& policy, const std::string& key) {
  const os::Fd directory = TRY(attempt.open_directory());
  gates::Judgement judgement;
  TaskView view;
  if (evidence.status == tasks::AttemptStatus::completed) {
    TRY(load_parsed_reports(directory.get(), evidence));
    judgement = gates::judge(policy, evidence);
    view = view_of_check(evidence, judgement);
    if (const auto base = base_evidence_of(evidence))
      TRY(check.cache.keep_base(key, *base, directory.get()));
  } else {
    view = view_of_fault(evidence, evidence.infra ? evidence.infra->detail : "it was stopped");
  }
  check.status.clear();
  const std::string report = check_report(view, evidence, check.command.form);
  if (check.command.form == ReportForm::json)
    print_json(report);
  else
    print(report);
  if (check.command.form == ReportForm::github)
    TRY(add_step_summary(report_to_markdown(view, evidence)));
  if (check.command.form == ReportForm::text) show_log(attempt, evidence, judgement);
  return exit_code_of_check(view, judgement);
}

os::Result<int> verify(Check& check, const TakenIn& taken) {
  const tasks::Policy policy = TRY(tasks::policy_from_json(taken.policy_json));
  AttemptStart start = TRY(lease(policy, check.probe));
  const std::string key = base_key(taken.change.base_tree.hex(), taken.change.policy_sha256,
                                   check.probe.environment_sha256, check.probe.level);
  CheckAttempt attempt = TRY(CheckAttempt::create(check.cache, *check.executor));
  TRY(attempt.stage("policy.json", taken.policy_json));
  tasks::Plan plan;
  plan.instance = check.instance;
  plan.task = "t_check";
  plan.kind = tasks::AttemptKind::verify;
  plan.intent = tasks::Intent::verify;
  plan.claims = claims_of(check.command);
  plan.change = taken.change;
  plan.policy_file = "policy.json";
  plan.layer = key;
  if (check.cache.has_base(key)) {
    TRY(check.cache.stage_base(key, attempt.directory()));
    plan.base_file = "base.json";
  } else {
    TRY(check.cache.forget_base(key));
  }
  tasks::Evidence evidence = TRY(attempt.run(std::move(plan), std::move(start), check.status));
  return judge(check, attempt, evidence, policy, key);
}

int tell_refusal(const tasks::Refusal& refusal) {
  std::string text = refusal.code + ": ";
  if (!refusal.path.empty()) text += refusal.path + ": ";
  say(text + refusal.detail);
  return kExitConflict;
}

os::Result<int> run_check(const CheckCommand& command) {
  CheckSource source = TRY(find_check_source(command.repository, command.base, command.head));
  std::string policy = TRY(held_policy(command));
  if (source.is_dirty) say("uncommitted edits are not judged: only commits are");
  if (source.base == source.head) say("there is no commit between the two: the base is judged");
  CheckCache cache = TRY(CheckCache::open());
  TRY(cache.trim());
  Config config;
  config.data = cache.path();
  std::unique_ptr<LocalExecutor> executor = TRY(start_executor(command, config));
  cancel_on_interrupt();
  ExecutorProbe probe = TRY_CONTEXT(executor->probe(), "executor");
  if (!probe.missing.empty())
    return os::fail(os::Code::unavailable,
                    "the sandbox lacks " + probe.missing.front() +
                        "; see `proofhouse doctor`, or allow it with --allow-gap");
  TRY(sweep_attempts(cache, *executor));
  Check check{.command = command,
              .source = std::move(source),
              .held_policy = std::move(policy),
              .cache = std::move(cache),
              .executor = std::move(executor),
              .probe = std::move(probe),
              .instance = instance_of(config),
              .status = {}};
  const TakenIn taken = TRY(take_in(check));
  check.status.clear();
  if (taken.change.refusal) return tell_refusal(*taken.change.refusal);
  return verify(check, taken);
}

}  // namespace

int run_command(const CheckCommand& command) {
  if (::geteuid() != 0) {
    say("check needs root for its sandboxes: sudo proofhouse check …, or post the change to a "
        "server with `proofhouse submit`");
    return kExitError;
  }
  const os::Result<int> code = run_check(command);
  return code ? *code : tell(code.error());
}

}  // namespace runner::cli
