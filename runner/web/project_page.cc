#include <algorithm>
#include <map>

#include "runner/web/figures.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"
#include "runner/web/plot.h"

namespace runner::web {
namespace {

constexpr std::size_t kShownHistories = 24;

using Histories = std::map<std::string, std::vector<HistoryPoint>>;

// Each promotion measured its change against its own base, so their ratios are chained.
Histories histories_of(const std::vector<PromotedTask>& promoted) {
  Histories histories;
  for (auto at = promoted.rbegin(); at != promoted.rend(); ++at) {
    if (at->judged == nullptr || !at->task.promotion) continue;
    for (const tasks::Gate& gate : at->judged->policy.gates) {
      if (gate.kind != tasks::GateKind::benchmark) continue;
      for (const Metric& metric : benchmark_metrics(*at->judged, gate)) {
        const gates::TrendResult& trend = metric.series.result;
        if (trend.pairs == 0) continue;
        std::vector<HistoryPoint>& points = histories[gate.name.str() + ": " + metric.series.name];
        const double before = points.empty() ? 1 : points.back().ratio;
        points.push_back({.label = at->task.promotion->new_commit.substr(0, 8),
                          .task = at->task.id,
                          .ratio = before * trend.estimate,
                          .low = before * trend.low,
                          .high = before * trend.high});
      }
    }
  }
  return histories;
}

void add_history(Html& out, const std::string& name, const std::vector<HistoryPoint>& points) {
  out << "<figure><figcaption>" << name << "</figcaption>" << history_plot(name, points)
      << "<details><summary>As a table</summary><table class=\"list\"><thead><tr><th "
         "scope=\"col\">Commit</th><th scope=\"col\" class=\"num\">Since the first base</th>"
         "</tr></thead><tbody>";
  for (const HistoryPoint& point : points)
    out << "<tr><th scope=\"row\"><a href=\"/tasks/" << point.task << "\"><code>" << point.label
        << "</code></a></th><td class=\"num\">" << delta_text(point.ratio) << "</td></tr>";
  out << "</tbody></table></details></figure>";
}

}  // namespace

Html projects_body(const std::vector<Project>& projects) {
  Html out;
  out << "<h1>Projects</h1>";
  if (projects.empty()) return out << "<p class=\"empty\">You may see no project yet.</p>";
  out << "<table class=\"list\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Branch</th>"
         "<th scope=\"col\">Authority</th><th scope=\"col\">State</th></tr></thead><tbody>";
  for (const Project& project : projects) {
    out << "<tr data-item><th scope=\"row\"><a href=\"/projects/" << project.name << "\">"
        << project.name << "</a></th><td><code>" << project.target << "</code></td><td>"
        << (project.authority == Authority::local ? std::string("held here")
                                                  : "pushed to " + project.url)
        << "</td><td>";
    if (project.frozen.empty())
      out << "open";
    else
      out << "<b>frozen:</b> " << project.frozen;
    out << "</td></tr>";
  }
  return out << "</tbody></table>";
}

Html project_body(const ProjectData& data) {
  const Project& project = data.project;
  Html out;
  out << "<p class=\"crumbs\"><a href=\"/projects\">Projects</a></p><h1>" << project.name
      << "</h1><p class=\"dim\">lands on <code>" << project.target
      << "</code> · <a href=\"/tasks?view=all&amp;project=" << project.name << "\">its tasks</a>"
      << "</p>";
  if (!project.frozen.empty())
    out << "<p class=\"notice bad\" role=\"alert\"><b>Frozen:</b> " << project.frozen << "</p>";
  out << "<h2>Promoted</h2>";
  if (data.promoted.empty()) {
    out << "<p class=\"empty\">Nothing has landed yet.</p>";
  } else {
    out << "<table class=\"list\"><thead><tr><th scope=\"col\">Commit</th><th scope=\"col\">Change"
           "</th><th scope=\"col\">Author</th><th scope=\"col\">Approved by</th><th scope=\"col\" "
           "class=\"num\">Landed</th></tr></thead><tbody>";
    for (const PromotedTask& row : data.promoted) {
      out << "<tr data-item><th scope=\"row\">" << short_id(row.task.promotion->new_commit)
          << "</th><td><a href=\"/tasks/" << row.task.id << "\">"
          << (row.task.title.empty() ? row.task.id : row.task.title) << "</a></td><td>"
          << row.task.principal << "</td><td>";
      for (const ApprovalView& given : row.task.approvals)
        if (given.valid && given.decision == "approve") out << given.by << " ";
      out << "</td><td class=\"num\">" << age(row.task.promotion->at) << "</td></tr>";
    }
    out << "</tbody></table>";
  }
  const Histories histories = histories_of(data.promoted);
  if (!histories.empty()) {
    out << "<h2>Benchmarks over what was promoted</h2><div class=\"plots\">";
    std::size_t shown = 0;
    for (const auto& [name, points] : histories)
      if (++shown <= kShownHistories) add_history(out, name, points);
    out << "</div><p class=\"dim\">Each commit against its own base on the same machine in the "
           "same hour, chained; the bar is that step's interval.</p>";
  }
  if (!data.policy.empty())
    out << "<h2>Policy in force</h2><details><summary>As JSON</summary><pre class=\"wrap\">"
        << data.policy << "</pre></details>";
  return out;
}

}  // namespace runner::web
