#include "runner/web/gpu_table.h"
#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

void add_rows(Html& out, Markup title, const std::vector<QueueRow>& rows, Markup none) {
  out << "<section><h2>" << title << " <span class=\"dim\">" << rows.size() << "</span></h2>";
  if (rows.empty()) {
    out << "<p class=\"empty\">" << none << "</p></section>";
    return;
  }
  out << "<table class=\"list\"><thead><tr><th scope=\"col\">Change</th><th scope=\"col\">Why</th>"
         "<th scope=\"col\" class=\"num\">Since</th></tr></thead><tbody>";
  for (const QueueRow& row : rows) {
    out << "<tr data-item><th scope=\"row\"><a href=\"/tasks/" << row.task.id << "\">"
        << (row.task.title.empty() ? row.task.id : row.task.title) << "</a><div class=\"dim\">"
        << row.task.project << " · " << row.task.principal << " · " << row.task.priority
        << "</div></th><td>";
    if (row.why) {
      out << row.why->text;
      if (!row.why->next_step.empty() && !row.why->next_step.starts_with("nothing"))
        out << "<div class=\"dim\">" << row.why->next_step << "</div>";
    }
    out << "</td><td class=\"num\">" << age(row.task.updated_at) << "</td></tr>";
  }
  out << "</tbody></table></section>";
}

void add_machine(Html& out, const MachineView& machine) {
  out << "<section><h2>Machine</h2><dl class=\"facts\"><dt>Host</dt><dd>" << machine.host
      << "</dd><dt>Sandbox</dt><dd>" << machine.level << "</dd><dt>CPUs</dt><dd>"
      << machine.cpus - machine.cpus_free << " of " << machine.cpus
      << " leased</dd><dt>Memory</dt><dd>" << bytes_text(machine.memory - machine.memory_free)
      << " of " << bytes_text(machine.memory) << " leased</dd></dl></section>";
}

}  // namespace

Html board_body(const BoardData& data) {
  Html out;
  out << "<h1>Board</h1><div id=\"board\" data-part>";
  if (!data.readiness.ready) {
    out << "<div class=\"notice bad\" role=\"alert\"><b>The server is not ready.</b><ul>";
    for (const std::string& problem : data.readiness.problems) out << "<li>" << problem << "</li>";
    out << "</ul></div>";
  }
  add_rows(out, "Running", data.running, "Nothing runs.");
  add_rows(out, "Waiting for the machine", data.waiting, "Nothing waits.");
  add_rows(out, "Waiting for people", data.deciding, "Nothing waits for a decision.");
  if (data.machine) add_machine(out, *data.machine);
  return out << gpu_list_table(data.gpus) << "</div>";
}

}  // namespace runner::web
