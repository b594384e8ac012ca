#include "runner/cli/task_text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runner/cli/terminal.h"

namespace runner::cli {
namespace {

// More reasons of a gate than this are for the report.
constexpr std::size_t kReasons = 5;

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + escape_line(value);
  return text;
}

std::string gates_text(const TaskAnswer& task) {
  if (task.gates.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  std::string text = "gates:\n";
  for (const GateAnswer& gate : task.gates)
    rows.push_back({"  " + gate.name, gate.status, gate.assurance, gate.summary});
  text += table(rows);
  for (const GateAnswer& gate : task.gates) {
    if (gate.status == "passed" || gate.reasons.empty()) continue;
    text += fmt::format("{}:\n", escape_line(gate.name));
    for (std::size_t i = 0; i < std::min(kReasons, gate.reasons.size()); ++i)
      text += fmt::format("  - {}\n", escape_line(gate.reasons[i]));
    if (gate.reasons.size() > kReasons)
      text += fmt::format("  … {} more in the report\n", gate.reasons.size() - kReasons);
  }
  return text;
}

std::string approvals_text(const TaskAnswer& task) {
  std::string text;
  if (task.approvals_needed > 0 || task.owners_needed > 0) {
    text += fmt::format("approvals: {} of {}", task.approvals_valid, task.approvals_needed);
    if (task.owners_needed > 0) text += fmt::format(", {} by owners", task.owners_needed);
    text += "\n";
  }
  if (!task.asks.empty()) text += fmt::format("to be accepted by name: {}\n", joined(task.asks));
  for (const ApprovalAnswer& given : task.approvals) {
    text += fmt::format("  {} by {}", escape_line(given.decision), escape_line(given.by));
    if (!given.reason.empty()) text += ": " + escape_line(given.reason);
    if (!given.void_reason.empty()) text += " (void: " + escape_line(given.void_reason) + ")";
    text += "\n";
  }
  return text;
}

}  // namespace

std::string end_words(const TaskAnswer& task) {
  std::string words;
  if (task.end.state != "done" && task.end.verdict.empty())
    words = task.end.state;
  else if (task.end.state == "awaiting_approval")
    words = task.end.verdict + ", awaiting approval";
  else if (task.end.state != "done")
    words = task.end.verdict + ", " + task.end.state;
  else
    words = task.end.verdict + (task.promoted_to.empty() ? "" : ", promoted");
  if (!task.end.failure_class.empty()) words += " (" + task.end.failure_class + ")";
  return escape_line(words);
}

std::string task_text(const TaskAnswer& task) {
  std::string text = fmt::format("{}: {}", escape_line(task.id), end_words(task));
  if (!task.assurance.empty()) text += ", " + escape_line(task.assurance);
  if (task.level == "reduced") text += ", in a reduced sandbox";
  text += "\n";
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", name, escape_line(value));
  };
  if (!task.guarded.empty()) text += fmt::format("guarded files: {}\n", joined(task.guarded));
  line("reason", task.reason);
  line("next", task.next_step);
  line("title", task.title);
  if (!task.project.empty())
    text += fmt::format("project: {}, intent {}, by {}\n", escape_line(task.project),
                        escape_line(task.intent), escape_line(task.principal));
  text += fmt::format("candidate: {} on {}\n", escape_line(task.candidate), escape_line(task.base));
  text += gates_text(task);
  text += approvals_text(task);
  if (!task.promoted_to.empty())
    text += fmt::format("landed: {} is {}\n", escape_line(task.promoted_target),
                        escape_line(task.promoted_to));
  return text;
}

std::string task_table(const std::vector<TaskAnswer>& tasks) {
  std::vector<std::vector<std::string>> rows{{"id", "project", "intent", "end", "by", "title"}};
  for (const TaskAnswer& task : tasks)
    rows.push_back(
        {task.id, task.project, task.intent, end_words(task), task.principal, task.title});
  return table(rows);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::string>> cells = rows;
  for (std::vector<std::string>& row : cells) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = escape_line(row[i]);
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : cells) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace runner::cli
