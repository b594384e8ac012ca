#include <algorithm>
#include <set>

#include "runner/web/gpu_table.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"
#include "sandbox/outcome.h"

namespace runner::web {
namespace {

constexpr std::size_t kShownRuns = 60;
constexpr std::size_t kShownEvents = 60;

// A share of the largest, as a bar beside its figure.
void add_bar(Html& out, std::int64_t value, std::int64_t most, const std::string& text) {
  const std::int64_t width = most <= 0 ? 0 : value * 100 / most;
  out << "<td class=\"num\">" << text
      << "<svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" "
         "aria-hidden=\"true\"><rect width=\""
      << width << "\" height=\"4\"/></svg></td>";
}

struct Most {
  std::int64_t wall = 0, cpu = 0, memory = 0;
};

std::int64_t cpu_of(const tasks::RunRecord& run) { return run.usage.user_ms + run.usage.sys_ms; }

void add_run(Html& out, const TaskView& task, const tasks::RunRecord& run, const Most& most) {
  out << "<tr><th scope=\"row\">";
  // Runs that were kept from before have their logs with the task that ran them.
  if (run.carried) {
    out << run.key.step.str();
  } else {
    out << "<a href=\"/tasks/" << task.id << "/logs/";
    out.url(run.id) << "\">" << run.key.step.str() << "</a>";
  }
  out << "</th><td>" << tasks::side_name(run.key.side);
  if (run.key.pair) out << " · pair " << *run.key.pair + 1;
  if (run.carried) out << " · kept from before";
  out << "</td><td>" << sandbox::describe(run.outcome);
  for (const sandbox::LimitHit& hit : run.limits_hit)
    out << " <span class=\"chip\">limit " << hit.limit << "</span>";
  out << "</td>";
  add_bar(out, run.usage.wall_ms, most.wall, duration_text(run.usage.wall_ms));
  add_bar(out, cpu_of(run), most.cpu, duration_text(cpu_of(run)));
  add_bar(out, run.usage.memory_peak, most.memory, bytes_text(run.usage.memory_peak));
  out << "<td class=\"num\">" << bytes_text(run.log.bytes) << "</td></tr>";
}

// The log of a step while there is no evidence yet.
void add_living(Html& out, const TaskView& task) {
  out << "<ul class=\"plain\">";
  for (const std::string& step : task.steps) {
    out << "<li data-item><a href=\"/tasks/" << task.id << "/logs/";
    out.url(step) << "\">" << step << "</a></li>";
  }
  out << "</ul>";
}

void add_artifact(Html& out, const TaskView& task, const std::string& name,
                  const std::string& sha256, std::int64_t bytes) {
  if (sha256.empty()) return;
  out << "<tr><th scope=\"row\">" << name << "</th><td><code class=\"digest\">" << sha256
      << "</code></td><td class=\"num\">";
  if (bytes >= 0) out << bytes_text(bytes);
  out << "</td><td><a href=\"/tasks/" << task.id << "/artifacts/" << sha256
      << "\" download>download</a></td></tr>";
}

void add_artifacts(Html& out, const TaskView& task, const tasks::Evidence& evidence) {
  out << "<h3>Artifacts</h3><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
         "aria-label=\"Artifacts\"><table class=\"list\"><thead><tr><th scope=\"col\">Name</th>"
         "<th scope=\"col\">SHA-256</th><th scope=\"col\" class=\"num\">Size</th><td></td></tr>"
         "</thead><tbody>";
  std::set<std::string> seen;
  for (const tasks::RunRecord& run : evidence.runs) {
    if (run.key.pair || seen.size() > kShownRuns) continue;
    const std::string step = run.key.step.str() + " (" + std::string(side_name(run.key.side)) + ")";
    for (const tasks::OutputRecord& output : run.outputs)
      if (seen.insert(output.sha256).second)
        add_artifact(out, task, step + ": " + output.name, output.sha256, output.bytes);
    for (const tasks::ReportRecord& report : run.reports)
      if (seen.insert(report.raw_sha256).second)
        add_artifact(out, task, step + ": " + report.path, report.raw_sha256, -1);
  }
  out << "</tbody></table></div>";
}

void add_fact(Html& out, Markup name, std::string_view value) {
  if (value.empty()) return;
  out << "<dt>" << name << "</dt><dd><code class=\"digest\">" << value << "</code></dd>";
}

void add_provenance(Html& out, const TaskData& data) {
  const TaskView& task = data.task;
  out << "<h3>Provenance</h3><dl class=\"facts\">";
  add_fact(out, "Candidate", task.candidate_commit);
  add_fact(out, "Its tree", task.candidate_tree);
  add_fact(out, "Base", task.base_commit);
  add_fact(out, "Its tree", task.base_tree);
  add_fact(out, "Diff", task.diff_digest);
  add_fact(out, "Policy", task.policy_sha256);
  add_fact(out, "Evidence", task.evidence_sha256);
  add_fact(out, "Sandbox", task.sandbox_level);
  if (data.judged != nullptr) {
    const tasks::Machine& machine = data.judged->evidence.machine;
    add_fact(out, "Machine", machine.host + ", " + machine.cpu + ", Linux " + machine.kernel);
    add_fact(out, "Environment", machine.environment_sha256);
    add_fact(out, "Proofhouse", machine.proofhouse);
  }
  out << "</dl>";
  if (task.promotion)
    out << "<details><summary>Receipt</summary><pre class=\"wrap\">" << task.promotion->receipt
        << "</pre></details>";
}

void add_patch_sets(Html& out, const TaskData& data) {
  if (data.patch_sets.size() < 2) return;
  out << "<h3>Patch sets of this family</h3><table class=\"list\"><tbody>";
  int number = 0;
  for (const TaskView& set : data.patch_sets) {
    ++number;
    out << "<tr><th scope=\"row\"><a href=\"/tasks/" << set.id << "\">Patch set " << number
        << "</a>";
    if (set.id == data.task.id) out << " (this one)";
    out << "</th><td>" << badge(end_word(set)) << "</td><td>" << age(set.created_at) << "</td><td>";
    if (set.id != data.task.id)
      out << "<a href=\"/tasks/" << data.task.id << "/diff?against=" << set.id
          << "\">what changed since</a>";
    out << "</td></tr>";
  }
  out << "</tbody></table>";
}

void add_history(Html& out, const TaskData& data) {
  if (data.events.empty()) return;
  out << "<details><summary>History: " << data.events.size()
      << " events</summary><ol class=\"plain\">";
  for (std::size_t i = 0; i < std::min(data.events.size(), kShownEvents); ++i) {
    const EventView& event = data.events[i];
    out << "<li><code>" << event.at << "</code> " << event.type << " <span class=\"dim\">"
        << event.data.substr(0, 300) << "</span></li>";
  }
  out << "</ol>";
  if (data.events.size() > kShownEvents)
    out << "<p class=\"dim\">" << data.events.size() - kShownEvents << " more.</p>";
  out << "</details>";
}

}  // namespace

Html runs_part(const TaskData& data) {
  Html out;
  out << "<section aria-labelledby=\"runs-title\"><h2 id=\"runs-title\">Steps and resources</h2>";
  if (data.judged == nullptr) {
    add_living(out, data.task);
    return out << "</section>";
  }
  const std::vector<tasks::RunRecord>& runs = data.judged->evidence.runs;
  Most most;
  for (const tasks::RunRecord& run : runs)
    most = {.wall = std::max(most.wall, run.usage.wall_ms),
            .cpu = std::max(most.cpu, cpu_of(run)),
            .memory = std::max(most.memory, run.usage.memory_peak)};
  out << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Runs\">"
         "<table class=\"list\"><thead><tr><th scope=\"col\">Step</th><th scope=\"col\">Code of"
         "</th><th scope=\"col\">Ended</th><th scope=\"col\" class=\"num\">Time</th>"
         "<th scope=\"col\" class=\"num\">CPU</th><th scope=\"col\" class=\"num\">Memory, peak</th>"
         "<th scope=\"col\" class=\"num\">Log</th></tr></thead><tbody>";
  std::size_t shown = 0;
  for (const tasks::RunRecord& run : runs) {
    if (run.key.pair || ++shown > kShownRuns) continue;
    add_run(out, data.task, run, most);
  }
  out << "</tbody></table></div>";
  const auto pairs =
      std::ranges::count_if(runs, [](const auto& run) { return run.key.pair.has_value(); });
  if (pairs > 0)
    out << "<p class=\"dim\">and " << pairs << " runs of benchmark pairs, whose figures stand "
        << "above.</p>";
  return out << gpu_shares_table(gpu_shares(data.judged->evidence)) << "</section>";
}

Html evidence_part(const TaskData& data) {
  Html out;
  out << "<section aria-labelledby=\"proof-title\"><h2 id=\"proof-title\">Evidence</h2>";
  add_patch_sets(out, data);
  add_provenance(out, data);
  if (data.judged != nullptr) add_artifacts(out, data.task, data.judged->evidence);
  add_history(out, data);
  return out << "</section>";
}

}  // namespace runner::web
