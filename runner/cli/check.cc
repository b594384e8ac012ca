// check: the whole job in a repository, without a server.
//
// Judges commits, never the working tree: what is tested is the head's tree, taken in by a jailed
// ingest from the repository's objects, under the base's policy. Needs root for its own executor
// and jails; keeps trees and builds of bases in the cache.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runner/cli/check_bench.h"
#include "runner/cli/check_report.h"
#include "runner/cli/check_source.h"
#include "runner/cli/commands.h"
#include "runner/cli/exit_code.h"
#include "runner/cli/session.h"
#include "runner/cli/terminal.h"
#include "runner/limits.h"
#include "runner/task_report.h"
#include "sandbox/os/files.h"
#include "sandbox/os/units.h"

namespace runner::cli {
namespace {

constexpr std::size_t kLogLimit = 16U << 20U;
// Lines of a failed step's output that are shown.
constexpr std::size_t kShownLines = 40;

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

// Prints what became of the change; the exit code.
os::Result<int> tell_result(const CheckCommand& command, const CheckResult& result) {
  const tasks::Evidence& evidence = result.evidence;
  const gates::Judgement judgement = result.judgement.value_or(gates::Judgement{});
  const TaskView view =
      result.judgement
          ? view_of_check(evidence, judgement)
          : view_of_fault(evidence, evidence.infra ? evidence.infra->detail : "it was stopped");
  const std::string report = check_report(view, evidence, command.form);
  if (command.form == ReportForm::json)
    print_json(report);
  else
    print(report);
  if (command.form == ReportForm::github) TRY(add_step_summary(report_to_markdown(view, evidence)));
  if (command.form == ReportForm::text) show_log(result.attempt, evidence, judgement);
  return exit_code_of_check(view, judgement);
}

os::Result<int> run_check(const CheckCommand& command) {
  const CheckSource source = TRY(find_check_source(command.repository, command.base, command.head));
  if (source.is_dirty) say("uncommitted edits are not judged: only commits are");
  if (source.base == source.head) say("there is no commit between the two: the base is judged");
  std::map<std::string, std::string> files;
  tasks::IngestSpec change;
  change.source = tasks::IngestSpec::Source::commit;
  change.commit = source.head;
  change.base = source.base;
  change.tip = source.tip;
  if (!command.policy_file.empty()) {
    change.policy_file = "in/policy.yaml";
    files[change.policy_file] = TRY(os::read_file(command.policy_file, kPolicyFileLimit));
  }
  const std::unique_ptr<CheckBench> bench = TRY(CheckBench::open(command.allow_gaps));
  const TakenIn taken = TRY(bench->take_in(std::move(change), source.git_dir, files));
  if (taken.change.refusal) {
    say(refusal_text(*taken.change.refusal));
    return kExitConflict;
  }
  return tell_result(command, TRY(bench->verify(taken, claims_of(command))));
}

}  // namespace

int run_command(const CheckCommand& command) {
  if (!is_allowed_to_check("check")) return kExitError;
  const os::Result<int> code = run_check(command);
  return code ? *code : tell(code.error());
}

}  // namespace runner::cli
