#include "runner/promotion/approval_rules.h"
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

void open_form(Html& out, const TaskData& data, Markup name, Markup title) {
  out << "<form method=\"post\" action=\"/tasks/" << data.task.id << "/decision\" id=\"" << name
      << "-form\"><h3>" << title << "</h3>";
  add_binding(out, data);
}

// Each gate is ticked by itself: nobody passes over what was not looked at.
void add_gate_boxes(Html& out, const std::vector<std::string>& gates, Markup field, Markup before,
                    Markup after) {
  for (const std::string& gate : gates)
    out << "<label class=\"check\"><input type=\"checkbox\" name=\"" << field << "\" value=\""
        << gate << "\" required> " << before << " <b>" << gate << "</b>" << after << "</label>";
}

void add_approve_form(Html& out, const TaskData& data) {
  open_form(out, data, "approve", "Approve");
  add_gate_boxes(out, data.task.asks, "gate", "I accept that gate", " is inconclusive");
  out << "<p>Lands exactly " << short_id(data.task.candidate_commit)
      << ".</p><label>Words for the record (may stay empty)<textarea name=\"reason\" rows=\"2\" "
         "maxlength=\"1000\"></textarea></label><button class=\"primary\" name=\"decision\" "
         "value=\"approve\">Approve</button></form>";
}

void add_override_form(Html& out, const TaskData& data) {
  open_form(out, data, "override", "Override");
  add_gate_boxes(out, data.task.overridable, "override", "I override gate", ", which did not pass");
  out << "<p>It takes " << kOverrideOwners << " owners, and lands exactly "
      << short_id(data.task.candidate_commit)
      << ". The receipt names the gates, the owners and their reasons, and claims no assurance."
         "</p><label>Reason<textarea name=\"reason\" rows=\"2\" maxlength=\"1000\" required>"
         "</textarea></label><button class=\"danger\" name=\"decision\" value=\"override\">"
         "Override</button></form>";
}

void add_refuse_form(Html& out, const TaskData& data) {
  open_form(out, data, "refuse", "Refuse");
  out << "<p>Ends the task; the author learns from the reason.</p>"
         "<label>Reason<textarea name=\"reason\" rows=\"2\" maxlength=\"1000\" required></textarea>"
         "</label><button class=\"danger\" name=\"decision\" value=\"refuse\">Refuse</button>"
         "</form>";
}

void add_need(Html& out, const TaskView& task) {
  out << "<p>Needed: " << task.approvals_needed << " approval(s)";
  if (task.owners_needed > 0) out << ", " << task.owners_needed << " of them by owners";
  out << ".</p>";
}

}  // namespace

Html decision_part(const TaskData& data) {
  const TaskView& task = data.task;
  const bool waits = task.state == TaskState::awaiting_approval;
  // Where a gate is in the way an approval that overrides none counts for nothing.
  const bool is_overridable = !task.overridable.empty();
  Html out;
  if (!waits && !is_overridable && task.approvals.empty()) return out;
  out << "<section aria-labelledby=\"decision-title\" class=\"card\"><h2 id=\"decision-title\">"
         "Decision</h2>";
  add_given(out, task);
  if (waits) add_need(out, task);
  if (is_overridable && !data.may_override)
    out << "<p class=\"dim\">Only owners who did not author the change may override its gates.</p>";
  Html forms;
  if (waits && data.may_decide && !is_overridable) add_approve_form(forms, data);
  if (is_overridable && data.may_override) add_override_form(forms, data);
  if (waits && data.may_decide) add_refuse_form(forms, data);
  if (forms.size() > 0) out << "<div class=\"decide\">" << forms << "</div>";
  if (waits && !data.may_decide)
    out << "<p class=\"dim\">You may read this task, and not decide on it.</p>";
  return out << "</section>";
}

}  // namespace runner::web
