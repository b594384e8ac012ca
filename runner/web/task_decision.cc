#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

void add_given(Html& out, const TaskView& task) {
  if (task.approvals.empty()) return;
  out << "<ul class=\"plain\">";
  for (const ApprovalView& given : task.approvals) {
    const bool is_approval = given.decision == "approve";
    const std::string words = is_approval                   ? "approved"
                              : given.decision == "abstain" ? "abstained"
                                                            : "refused";
    out << "<li>" << badge(is_approval ? "passed" : words) << " <b>" << given.by << "</b> " << words
        << " " << age(given.at);
    for (const std::string& gate : given.overrides) out << " <b>overrides</b> " << gate;
    if (!given.reason.empty()) out << ": " << given.reason;
    if (!given.valid) out << " <b>void:</b> " << given.void_reason;
    out << "</li>";
  }
  out << "</ul>";
}

// What the decision is about: sent back with it, so that nothing else can be decided.
void add_binding(Html& out, const TaskData& data) {
  const TaskView& task = data.task;
  out << csrf_field(data.csrf) << "<input type=\"hidden\" name=\"commit\" value=\""
      << task.candidate_commit << "\"><input type=\"hidden\" name=\"diff_digest\" value=\""
      << task.diff_digest << "\"><input type=\"hidden\" name=\"etag\" value=\"" << task.etag
      << "\">";
}

void add_forms(Html& out, const TaskData& data) {
  const TaskView& task = data.task;
  out << "<div class=\"decide\"><form method=\"post\" action=\"/tasks/" << task.id
      << "/decision\" id=\"approve-form\"><h3>Approve</h3>";
  add_binding(out, data);
  for (const std::string& gate : task.asks)
    out << "<label class=\"check\"><input type=\"checkbox\" name=\"gate\" value=\"" << gate
        << "\" required> I accept that gate <b>" << gate << "</b> is inconclusive</label>";
  out << "<p>Lands exactly " << short_id(task.candidate_commit)
      << ".</p><label>Words for the record (may stay empty)<textarea name=\"reason\" rows=\"2\" "
         "maxlength=\"1000\"></textarea></label><button class=\"primary\" name=\"decision\" "
         "value=\"approve\">Approve</button></form><form method=\"post\" action=\"/tasks/"
      << task.id << "/decision\" id=\"refuse-form\"><h3>Refuse</h3>";
  add_binding(out, data);
  out << "<p>Ends the task; the author learns from the reason.</p>"
         "<label>Reason<textarea name=\"reason\" rows=\"2\" maxlength=\"1000\" required></textarea>"
         "</label><button class=\"danger\" name=\"decision\" value=\"refuse\">Refuse</button>"
         "</form></div>";
}

}  // namespace

Html decision_part(const TaskData& data) {
  const TaskView& task = data.task;
  Html out;
  const bool waits = task.state == TaskState::awaiting_approval;
  if (!waits && task.approvals.empty()) return out;
  out << "<section aria-labelledby=\"decision-title\" class=\"card\"><h2 id=\"decision-title\">"
         "Decision</h2>";
  add_given(out, task);
  if (waits) {
    out << "<p>Needed: " << task.approvals_needed << " approval(s)";
    if (task.owners_needed > 0) out << ", " << task.owners_needed << " of them by owners";
    out << ".</p>";
    if (data.may_decide)
      add_forms(out, data);
    else
      out << "<p class=\"dim\">You may read this task, and not decide on it.</p>";
  }
  return out << "</section>";
}

}  // namespace runner::web
