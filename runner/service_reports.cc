// Reports, logs, diffs, artifacts, and judging again.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "gates/benchmark_gate.h"
#include "gates/runs.h"
#include "gates/verdict.h"
#include "runner/benchmark_plot.h"
#include "runner/run_log.h"
#include "runner/service_core.h"
#include "runner/store/attempts.h"
#include "runner/store/evidence_refs.h"
#include "runner/task_report.h"

namespace runner {
namespace {

constexpr std::size_t kDiffLimit = 256U << 20U;
constexpr std::size_t kArtifactLimit = 512U << 20U;
constexpr std::size_t kMostJudged = 24;  // kept in memory with their reports

// The evidence, or nothing where there is none (any more).
std::optional<tasks::Evidence> optional_evidence(os::Result<tasks::Evidence> evidence) {
  if (!evidence) return std::nullopt;
  return std::move(*evidence);
}

}  // namespace

Answer<LogChunk> ServiceCore::log(const Actor& actor, const std::string& id,
                                  const std::string& step, std::int64_t offset,
                                  std::int64_t limit) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  if (offset < 0) return refuse_field("/offset", "an offset is not negative");
  const LogWindow window{.offset = offset,
                         .limit = std::clamp<std::int64_t>(limit, 1, kLongestLog)};
  if (task.state == TaskState::running) {
    const auto attempts = ASK(
        store_->read([&](store::Database& database) { return store::attempts_of(database, id); }));
    if (!attempts.empty() && attempts.back().is_active())
      return ASK(read_living_log(context_, attempts.back(), step, window));
  }
  if (task.evidence_sha256.empty()) {
    LogChunk nothing;
    nothing.finished = task.state == TaskState::done;
    return nothing;
  }
  const tasks::Evidence evidence = ASK(evidence_of(task));
  const tasks::RunRecord* const run = run_to_show(evidence, step);
  if (run == nullptr)
    return refuse("not_found", "step '" + step + "' did not run", "look at the report");
  return ASK(read_kept_log(evidence_, *run, window));
}

Answer<std::string> ServiceCore::report_json(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  return report_to_json(ASK(view_of(task)), optional_evidence(evidence_of(task)));
}

Answer<std::string> ServiceCore::report_markdown(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  std::string text = report_to_markdown(ASK(view_of(task)), optional_evidence(evidence_of(task)));
  if (task.judgement.empty()) return text;
  const JudgedEvidence judged = ASK(judge_kept(evidence_, ASK(evidence_of(task))));
  for (const tasks::Gate& gate : judged.policy.gates) {
    if (gate.kind != tasks::GateKind::benchmark) continue;
    const auto series =
        gates::benchmark_series(gates::Context{judged.policy, judged.evidence}, gate);
    if (series.empty()) continue;
    text +=
        "## Pairs of " + escape_markdown(gate.name.str()) + "\n\n" + benchmark_table(series) + "\n";
  }
  return text;
}

Answer<std::string> ServiceCore::plot(const Actor& actor, const std::string& id,
                                      const std::string& gate) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  if (task.judgement.empty())
    return refuse("wrong_state", "the task was not judged", "wait until it is done");
  const JudgedEvidence judged = ASK(judge_kept(evidence_, ASK(evidence_of(task))));
  const tasks::Gate* const found = judged.policy.find_gate(tasks::GateName(gate));
  if (found == nullptr || found->kind != tasks::GateKind::benchmark)
    return refuse("not_found", "the policy has no benchmark gate of that name",
                  "look at the report's gates");
  return benchmark_plot(
      gates::benchmark_series(gates::Context{judged.policy, judged.evidence}, *found),
      found->tolerance);
}

Answer<std::string> ServiceCore::diff(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  return ASK(evidence_.get(task.diff_sha256, kDiffLimit));
}

Answer<tasks::DiffView> ServiceCore::diff_view(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  const auto blob = ASK(store_->read([&](store::Database& database) {
    return store::find_diff_view(database, task.diff_sha256);
  }));
  if (!blob) return refuse("not_found", "this task's diff is not kept as lines", "read its patch");
  return ASK(tasks::diff_view_from_json(ASK(evidence_.get(*blob, kDiffLimit))));
}

Answer<std::shared_ptr<const JudgedTask>> ServiceCore::judged(const Actor& actor,
                                                              const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  auto known = judged_.with([&](JudgedCache& cache) {
    const auto found = cache.find(task.evidence_sha256);
    return found == cache.end() ? std::shared_ptr<const JudgedTask>() : found->second;
  });
  if (known) return known;
  auto made = std::make_shared<JudgedTask>();
  made->evidence = ASK(evidence_of(task));
  ASK(load_reports(evidence_, made->evidence));
  made->policy = ASK(policies_.get(task.policy_sha256));
  judged_.with([&](JudgedCache& cache) {
    if (cache.size() >= kMostJudged) cache.clear();
    cache.insert_or_assign(task.evidence_sha256, made);
  });
  return made;
}

Answer<std::string> ServiceCore::artifact(const Actor& actor, const std::string& id,
                                          const std::string& sha256) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  // Blobs are shared between tasks: only what this one refers to is its own to show.
  const bool is_its = ASK(store_->read(
      [&](store::Database& database) { return store::has_ref(database, task.id, sha256); }));
  if (!is_its) return refuse("not_found", "the task has no artifact " + sha256.substr(0, 64));
  return ASK(evidence_.get(sha256, kArtifactLimit));
}

Answer<Service::Rejudged> ServiceCore::rejudge(const Actor& actor, const std::string& id) {
  const store::TaskRow task = ASK(visible_task(actor, id));
  if (task.judgement.empty())
    return refuse("wrong_state", "the task was not judged", "wait until it is done");
  const JudgedEvidence judged = ASK(judge_kept(evidence_, ASK(evidence_of(task))));
  Rejudged again;
  again.judgement_json = gates::judgement_to_json(judged.judgement);
  again.same = again.judgement_json == task.judgement;
  return again;
}

}  // namespace runner
