#include <array>

#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

struct View {
  std::string_view key;
  Markup words;
};
constexpr std::array kViews{View{"decide", "To decide"}, View{"open", "Open"}, View{"done", "Done"},
                            View{"all", "All"}};

void add_filters(Html& out, const QueueData& data) {
  out << "<form class=\"filters\" method=\"get\" action=\"/tasks\" role=\"search\" "
         "aria-label=\"Filter the queue\"><div class=\"tabs\">";
  for (const View& view : kViews) {
    out << "<a href=\"/tasks?view=" << view.key << "&amp;project=";
    out.url(data.filter.project) << "\"";
    if (data.view == view.key) out << " aria-current=\"true\"";
    out << ">" << view.words << "</a>";
  }
  out << "</div><input type=\"hidden\" name=\"view\" value=\"" << data.view
      << "\"><label>Project <select name=\"project\"><option value=\"\">all</option>";
  for (const std::string& project : data.projects) {
    out << "<option";
    if (project == data.filter.project) out << " selected";
    out << ">" << project << "</option>";
  }
  out << "</select></label><label>Author <input name=\"author\" size=\"12\" value=\""
      << data.filter.principal << "\"></label><button>Filter</button></form>";
}

// What a reviewer has to look at more closely, in words.
void add_risk(Html& out, const TaskView& task) {
  if (!task.guarded.empty())
    out << "<span class=\"chip\" title=\"touches tests, build files or the policy\">"
        << task.guarded.size() << " guarded</span> ";
  for (const std::string& gate : task.asks)
    out << "<span class=\"chip\">" << gate << " inconclusive</span> ";
  if (task.assurance && task.state == TaskState::awaiting_approval)
    out << "<span class=\"chip calm\">" << *task.assurance << "</span>";
}

void add_row(Html& out, const QueueRow& row) {
  const TaskView& task = row.task;
  out << "<tr data-item><td>" << badge(end_word(task)) << "</td><th scope=\"row\"><a href=\"/tasks/"
      << task.id << "\">" << (task.title.empty() ? task.id : task.title)
      << "</a><div class=\"dim\">" << task.project << " · " << task.principal << " · "
      << short_id(task.candidate_commit) << "</div></th><td>";
  add_risk(out, task);
  out << "</td><td>";
  if (row.why)
    out << row.why->text;
  else
    out << task.reason.text;
  out << "</td><td class=\"num\">" << age(task.created_at) << "</td></tr>";
}

}  // namespace

Html queue_body(const QueueData& data) {
  Html out;
  out << "<h1>Queue</h1>";
  add_filters(out, data);
  out << "<div id=\"queue\" data-part>";
  if (data.rows.empty()) {
    out << "<p class=\"empty\">"
        << (data.view == "decide" ? std::string("Nothing waits for your decision.")
                                  : std::string("No task is here."))
        << "</p></div>";
    return out;
  }
  out << "<table class=\"list\"><caption class=\"hidden\">Tasks, the newest first</caption><thead>"
         "<tr><th scope=\"col\">State</th><th scope=\"col\">Change</th><th scope=\"col\">Look at"
         "</th><th scope=\"col\">What it waits for, or how it ended</th>"
         "<th scope=\"col\" class=\"num\">Age</th></tr></thead><tbody>";
  for (const QueueRow& row : data.rows) add_row(out, row);
  out << "</tbody></table>";
  if (!data.next.empty()) {
    out << "<p><a href=\"/tasks?view=" << data.view << "&amp;project=";
    out.url(data.filter.project) << "&amp;author=";
    out.url(data.filter.principal) << "&amp;after=" << data.next << "\">Older tasks</a></p>";
  }
  return out << "</div>";
}

}  // namespace runner::web
