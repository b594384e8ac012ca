// Reports of a task, for programs and for people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runner/service.h"
#include "tasks/evidence.h"

namespace runner {

// JSON {schema:1, task:{…}, verdict, failure_class, assurance, reason, gates:[…], runs:[…],
// approvals:[…], promotion, machine}: the view and, where there is evidence, each run with outcome,
// usage and limits hit.
std::string report_to_json(const TaskView& view, const std::optional<tasks::Evidence>& evidence);

// Markdown: verdict first, then guarded files, reasons, gates, runs, approvals. Everything that a
// change could have chosen is escaped (no markup, mention or control character of it acts) and cut.
std::string report_to_markdown(const TaskView& view,
                               const std::optional<tasks::Evidence>& evidence);

// Untrusted text as one line of Markdown text: markup characters escaped, control characters,
// directional overrides and zero-width characters shown as \u{…}, at most `limit` bytes.
std::string escape_markdown(std::string_view text, std::size_t limit = 500);

}  // namespace runner
