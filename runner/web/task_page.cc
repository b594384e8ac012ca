#include <algorithm>
#include <string_view>

#include "runner/web/file_list.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

void add_tab(Html& out, const std::string& task, Markup rest, Markup words, bool is_current) {
  out << "<a href=\"/tasks/" << task << rest << "\"";
  if (is_current) out << " aria-current=\"page\"";
  out << ">" << words << "</a>";
}

// What the viewer has just done.
void add_said(Html& out, std::string_view said) {
  if (said == "approve")
    out << "<p class=\"notice good\" role=\"status\">Your approval is recorded.</p>";
  if (said == "refuse")
    out << "<p class=\"notice good\" role=\"status\">Your refusal is recorded.</p>";
  if (said == "override")
    out << "<p class=\"notice good\" role=\"status\">Your override is recorded.</p>";
}

void add_reason(Html& out, const TaskData& data) {
  const TaskView& task = data.task;
  const bool goes_on = task.state != TaskState::done;
  const std::string& text = goes_on || task.reason.text.empty() ? data.why.text : task.reason.text;
  out << "<p class=\"lead\">" << text << "</p>";
  if (goes_on && !task.reason.text.empty() && task.reason.text != text)
    out << "<p>" << task.reason.text << "</p>";
  const std::string& next = goes_on ? data.why.next_step : task.next_step;
  // Who may decide needs no advice to ask somebody who may.
  const bool is_theirs = data.may_decide && task.state == TaskState::awaiting_approval;
  if (!next.empty() && !next.starts_with("nothing") && !is_theirs)
    out << "<p class=\"dim\">Next: " << next << "</p>";
}

void add_claims(Html& out, const tasks::Claims& claims) {
  if (!claims.text.empty())
    out << "<p class=\"claim\"><b>The author says:</b> " << claims.text << "</p>";
  const auto list = [&](Markup words, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out << "<p>" << words;
    for (const std::string& name : names) out << " <code>" << name << "</code>";
    out << "</p>";
  };
  list("Claims to fix:", claims.fixes);
  list("Claims to remove:", claims.removes);
}

}  // namespace

Html task_header(const TaskData& data) {
  const TaskView& task = data.task;
  Html out;
  out << "<div id=\"head\" data-part data-say=\"" << end_word(task) << "\"><p class=\"crumbs\">"
      << "<a href=\"/tasks\">Queue</a> / <a href=\"/projects/" << task.project << "\">"
      << task.project << "</a> / <code>" << task.id << "</code></p><h1>" << badge(end_word(task))
      << " " << (task.title.empty() ? task.id : task.title) << "</h1><p class=\"dim\">by <b>"
      << task.principal << "</b> for <code>" << data.target << "</code>, " << age(task.created_at)
      << " · candidate " << short_id(task.candidate_commit) << " on " << short_id(task.base_commit);
  if (task.assurance) out << " · assurance <b>" << *task.assurance << "</b>";
  if (task.promotion)
    out << " · landed as " << short_id(task.promotion->new_commit) << " "
        << age(task.promotion->at);
  out << "</p>";
  return out << "</div>";
}

Html file_tabs(const std::string& task, bool is_diff) {
  Html out;
  out << "<nav class=\"tabs\" aria-label=\"This task\">";
  add_tab(out, task, "", "Verdict", !is_diff);
  add_tab(out, task, "/diff", "Diff", is_diff);
  return out << "</nav>";
}

Html files_part(const TaskData& data) {
  const TaskView& task = data.task;
  Html out;
  out << "<section aria-labelledby=\"files-title\"><h2 id=\"files-title\">Files</h2>";
  if (!data.diff) return out << "<p class=\"dim\">The diff is no longer kept.</p></section>";
  const auto is_guarded = [&](const tasks::FileView& file) {
    return std::ranges::binary_search(task.guarded, file.path) ||
           std::ranges::binary_search(task.guarded, file.old_path);
  };
  const auto list = [&](bool guarded) {
    out << "<ul class=\"files\">";
    for (const tasks::FileView& file : data.diff->files) {
      if (is_guarded(file) != guarded) continue;
      out << "<li data-item><span class=\"status\" title=\"" << file_status(file) << "\">"
          << std::string(1, file.status) << "</span> <a href=\"/tasks/" << task.id << "/diff#"
          << file_anchor(file) << "\">" << file.path << "</a> " << line_counts(file) << "</li>";
    }
    out << "</ul>";
  };
  if (!task.guarded.empty()) {
    out << "<div class=\"notice doubt\"><h3>Guarded files: owners must approve these</h3>"
           "<p>They are outside of what this project lets a change edit freely (tests, build "
           "files, the policy): a change to them can weaken its own checks.</p>";
    list(true);
    out << "</div>";
  }
  list(false);
  if (data.diff->cut > 0) out << "<p>" << data.diff->cut << " more files are not shown.</p>";
  return out << "<p><a href=\"/tasks/" << task.id << "/diff\">Read the diff</a> · <a href=\"/tasks/"
             << task.id << "/patch\">download the patch</a></p></section>";
}

Html task_body(const TaskData& data) {
  Html out;
  out << task_header(data) << file_tabs(data.task.id, false) << "<div id=\"verdict\" data-part>";
  add_said(out, data.said);
  add_reason(out, data);
  add_claims(out, data.task.claims);
  if (data.may_decide && data.task.state == TaskState::awaiting_approval)
    out << "<p><a class=\"act\" href=\"#decision\">Decide</a></p>";
  out << "</div><div id=\"gates\" data-part>" << gates_part(data) << "</div>" << files_part(data)
      << "<div id=\"decision\" data-part>" << decision_part(data)
      << "</div><div id=\"runs\" data-part>" << runs_part(data)
      << "</div><div id=\"proof\" data-part>" << evidence_part(data) << "</div>";
  return out;
}

}  // namespace runner::web
