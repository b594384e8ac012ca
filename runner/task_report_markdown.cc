// The Markdown form of a task's report.
#include <array>
#include <cstdint>
#include <string>

#include "runner/task_report.h"

namespace runner {
namespace {

constexpr std::size_t kReasonsPerGate = 10;
constexpr std::size_t kRunsShown = 100;
constexpr std::size_t kPathsShown = 100;

// One code point of UTF-8 at `at`, and how many bytes it takes; an invalid byte stands for itself
// as U+FFFD.
struct CodePoint {
  char32_t value = 0xFFFD;
  std::size_t bytes = 1;
};
CodePoint code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || at + length > text.size()) return {};
  constexpr std::array<unsigned char, 5> kMasks{0, 0, 0x1F, 0x0F, 0x07};
  char32_t value = first & kMasks.at(length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    value = (value << 6U) | (byte(at + i) & 0x3FU);
  }
  return {value, length};
}

// Characters that act without being seen: C0, DEL, C1, directional marks, zero-width, line breaks
// of Unicode, tags.
bool is_hidden(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xAD || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         c == 0xFFFD || (c >= 0xE0000 && c <= 0xE007F);
}

std::string hexadecimal(char32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (int shift = 20; shift >= 0; shift -= 4) {
    const auto digit = (static_cast<std::uint32_t>(c) >> static_cast<unsigned>(shift)) & 0xFU;
    if (digit != 0 || !digits.empty() || shift == 0) digits += kDigits[digit];
  }
  return digits;
}

void add_line(std::string& text, const std::string& line) { text += line + "\n"; }

std::string short_id(const std::string& id) { return id.substr(0, 12); }

void add_head(const TaskView& view, std::string& text) {
  const std::string verdict =
      view.verdict.empty() ? std::string(task_state_name(view.state)) : view.verdict;
  add_line(text, "# " + escape_markdown(verdict) +
                     (view.failure_class.empty() ? "" : " (" + view.failure_class + ")") + ": " +
                     escape_markdown(view.title.empty() ? view.id : view.title));
  add_line(text, "");
  add_line(text, "| | |");
  add_line(text, "|---|---|");
  const auto row = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) add_line(text, "| " + name + " | " + escape_markdown(value) + " |");
  };
  row("task", view.id);
  row("project", view.project);
  row("intent", std::string(tasks::intent_name(view.intent)));
  row("state", std::string(task_state_name(view.state)));
  row("author", view.principal);
  row("base", short_id(view.base_commit));
  row("candidate", short_id(view.candidate_commit));
  row("assurance", view.assurance.value_or(""));
  row("sandbox", view.sandbox_level);
  row("evidence", short_id(view.evidence_sha256));
  if (view.promotion)
    row("promoted", view.promotion->target + ": " + short_id(view.promotion->old_commit) + " to " +
                        short_id(view.promotion->new_commit));
  add_line(text, "");
}

void add_reason(const TaskView& view, std::string& text) {
  if (!view.reason.text.empty())
    add_line(text, "**Reason:** " + escape_markdown(view.reason.text, 2000) + "\n");
  if (!view.next_step.empty())
    add_line(text, "**Next:** " + escape_markdown(view.next_step, 2000) + "\n");
}

void add_guarded(const TaskView& view, std::string& text) {
  if (view.guarded.empty()) return;
  add_line(text, "## Guarded files that the change touches\n");
  std::size_t shown = 0;
  for (const std::string& path : view.guarded) {
    if (++shown > kPathsShown) break;
    add_line(text, "- " + escape_markdown(path));
  }
  if (view.guarded.size() > kPathsShown)
    add_line(text, "- and " + std::to_string(view.guarded.size() - kPathsShown) + " more");
  add_line(text, "");
}

void add_gates(const TaskView& view, std::string& text) {
  if (view.gates.empty()) return;
  add_line(text, "## Gates\n\n| gate | kind | result | assurance | |\n|---|---|---|---|---|");
  for (const gates::GateResult& gate : view.gates)
    add_line(text, "| " + escape_markdown(gate.name.str()) + " | " +
                       std::string(tasks::gate_kind_name(gate.kind)) + " | " +
                       std::string(gates::gate_status_name(gate.status)) + " | " +
                       std::string(tasks::assurance_name(gate.assurance)) + " | " +
                       escape_markdown(gate.summary) + " |");
  add_line(text, "");
  for (const gates::GateResult& gate : view.gates) {
    if (gate.status == gates::GateStatus::passed || gate.reasons.empty()) continue;
    add_line(text, "### " + escape_markdown(gate.name.str()) + "\n");
    std::size_t shown = 0;
    for (const gates::Reason& reason : gate.reasons) {
      if (++shown > kReasonsPerGate) break;
      add_line(text, "- " + escape_markdown(reason.text, 1000) +
                         (reason.evidence.empty() ? "" : " (run " + reason.evidence + ")"));
    }
    if (gate.reasons.size() > kReasonsPerGate)
      add_line(text, "- and " + std::to_string(gate.reasons.size() - kReasonsPerGate) + " more");
    add_line(text, "");
  }
}

void add_runs(const tasks::Evidence& evidence, std::string& text) {
  add_line(text,
           "## Runs\n\n| run | step | side | ended | ms | peak bytes |\n|---|---|---|---|---|---|");
  std::size_t shown = 0;
  for (const tasks::RunRecord& run : evidence.runs) {
    if (++shown > kRunsShown) break;
    add_line(text, "| " + escape_markdown(run.id) + " | " + escape_markdown(run.key.step.str()) +
                       " | " + std::string(tasks::side_name(run.key.side)) +
                       (run.carried ? " (kept)" : "") + " | " +
                       escape_markdown(sandbox::describe(run.outcome)) + " | " +
                       std::to_string(run.usage.wall_ms) + " | " +
                       std::to_string(run.usage.memory_peak) + " |");
  }
  if (evidence.runs.size() > kRunsShown)
    add_line(text, "\n" + std::to_string(evidence.runs.size() - kRunsShown) + " more runs");
  add_line(text, "");
}

void add_approvals(const TaskView& view, std::string& text) {
  if (view.intent != tasks::Intent::promote ||
      (view.approvals_needed == 0 && view.owners_needed == 0 && view.approvals.empty()))
    return;
  add_line(text, "## Approvals\n");
  add_line(text, std::to_string(view.approvals_needed) + " needed, " +
                     std::to_string(view.owners_needed) + " of owners.\n");
  for (const ApprovalView& approval : view.approvals)
    add_line(text, "- " + escape_markdown(approval.by) + ": " + approval.decision + ", " +
                       approval.at +
                       (approval.valid ? "" : ", void: " + escape_markdown(approval.void_reason)) +
                       (approval.reason.empty() ? "" : ": " + escape_markdown(approval.reason)));
  add_line(text, "");
}

}  // namespace

std::string escape_markdown(std::string_view text, std::size_t limit) {
  constexpr std::string_view kMarkup = "\\`*_{}[]()#+!|<>~@&$";
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    if (escaped.size() >= limit) return escaped + "…";
    const CodePoint point = code_point(text, at);
    if (is_hidden(point.value)) {
      escaped += point.value == '\n' || point.value == '\t'
                     ? " "
                     : "\\\\u\\{" + hexadecimal(point.value) + "\\}";
    } else {
      if (point.value < 0x80 && kMarkup.contains(static_cast<char>(point.value))) escaped += '\\';
      escaped += text.substr(at, point.bytes);
    }
    at += point.bytes;
  }
  return escaped;
}

std::string report_to_markdown(const TaskView& view,
                               const std::optional<tasks::Evidence>& evidence) {
  std::string text;
  add_head(view, text);
  add_reason(view, text);
  add_guarded(view, text);
  add_gates(view, text);
  if (evidence) add_runs(*evidence, text);
  add_approvals(view, text);
  return text;
}

}  // namespace runner
