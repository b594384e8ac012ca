#include "runner/web/page.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "runner/version.h"
#include "runner/web/assets.h"

namespace runner::web {
namespace {

std::string fixed(double value, int decimals) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

void add_place(Html& out, const Frame& frame, Markup place, Markup path, Markup words) {
  out << "<a href=\"" << path << "\"";
  if (frame.place.text() == place.text()) out << " aria-current=\"page\"";
  out << ">" << words << "</a>";
}

void add_header(Html& out, const Frame& frame) {
  out << "<header class=\"top\"><a class=\"brand\" href=\"/tasks\">Proofhouse</a>";
  if (frame.actor != nullptr) {
    out << "<nav aria-label=\"Main\">";
    add_place(out, frame, "queue", "/tasks", "Queue");
    add_place(out, frame, "board", "/board", "Board");
    add_place(out, frame, "projects", "/projects", "Projects");
    out << "</nav><form method=\"post\" action=\"/logout\" class=\"who\"><span>"
        << frame.actor->principal.name << "</span>" << csrf_field(frame.csrf)
        << "<button class=\"quiet\">Log out</button></form>";
  }
  out << "</header>";
}

// Opened by "?"; the same words stand in the footer for all who have no keyboard or no script.
void add_keys(Html& out) {
  out << "<dialog id=\"keys\" aria-labelledby=\"keys-title\"><h2 id=\"keys-title\">Keyboard</h2>"
         "<dl class=\"keys\">"
         "<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous row or file</dd>"
         "<dt><kbd>n</kbd> <kbd>p</kbd></dt><dd>next, previous change in a diff</dd>"
         "<dt><kbd>o</kbd></dt><dd>open the row</dd>"
         "<dt><kbd>d</kbd> <kbd>t</kbd></dt><dd>diff, verdict of this task</dd>"
         "<dt><kbd>u</kbd></dt><dd>back to the queue</dd>"
         "<dt><kbd>?</kbd></dt><dd>this help</dd></dl>"
         "<form method=\"dialog\"><button>Close</button></form></dialog>";
}

struct Sign {
  std::string_view word;
  Markup kind, sign, shown;
};

// Signs differ in shape, so that they can be told apart without colour.
constexpr std::array kSigns{
    Sign{"promoted", "good", "✔", "promoted"},
    Sign{"accepted", "good", "✔", "accepted"},
    Sign{"passed", "good", "✔", "passed"},
    Sign{"ran", "good", "✔", "ran"},
    Sign{"rejected", "bad", "✘", "rejected"},
    Sign{"failed", "bad", "✘", "failed"},
    Sign{"refused", "bad", "✘", "refused"},
    Sign{"regressed", "bad", "✘", "slower"},
    Sign{"error", "bad", "!", "error"},
    Sign{"inconclusive", "doubt", "?", "inconclusive"},
    Sign{"undecided", "doubt", "?", "undecided"},
    Sign{"awaiting_approval", "doubt", "◆", "awaiting approval"},
    Sign{"queued", "calm", "…", "queued"},
    Sign{"running", "calm", "▶", "running"},
    Sign{"promoting", "calm", "▲", "promoting"},
    Sign{"cancelled", "calm", "–", "cancelled"},
    Sign{"not_run", "calm", "–", "not run"},
};

}  // namespace

std::string render(const Frame& frame) {
  Html out;
  out << "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
         "<meta name=\"color-scheme\" content=\"light dark\"><title>"
      << frame.title << " · Proofhouse</title><link rel=\"stylesheet\" href=\""
      << asset_path("style.css") << "\"><link rel=\"icon\" href=\"" << asset_path("icon.svg")
      << "\"><script type=\"module\" src=\"" << asset_path("app.js") << "\"></script></head><body";
  if (!frame.live.empty()) out << " data-live=\"" << frame.live << "\"";
  out << "><a class=\"skip\" href=\"#main\">Skip to content</a>";
  add_header(out, frame);
  out << "<main id=\"main\" tabindex=\"-1\">" << frame.body << "</main>";
  if (frame.actor != nullptr) add_keys(out);
  out << "<p id=\"said\" class=\"hidden\" role=\"status\"></p><footer>Proofhouse "
      << std::string(kVersion);
  if (frame.actor != nullptr) out << " · press <kbd>?</kbd> for keys";
  out << "</footer></body></html>";
  return out.take();
}

Html csrf_field(const std::string& csrf) {
  Html out;
  out << "<input type=\"hidden\" name=\"csrf\" value=\"" << csrf << "\">";
  return out;
}

Html age(std::string_view at) {
  std::tm parts{};
  Html out;
  const std::string text(at);
  if (::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return out << text;
  const std::int64_t seconds = std::max<std::int64_t>(std::time(nullptr) - ::timegm(&parts), 0);
  out << "<time datetime=\"" << text << "\" title=\"" << text << "\">";
  if (seconds < 60)
    out << seconds << " s";
  else if (seconds < 3600)
    out << seconds / 60 << " min";
  else if (seconds < 86'400)
    out << seconds / 3600 << " h";
  else
    out << seconds / 86'400 << " d";
  return out << " ago</time>";
}

Html short_id(std::string_view id) {
  Html out;
  return out << "<code title=\"" << id << "\">" << id.substr(0, 12) << "</code>";
}

Html badge(std::string_view word) {
  Html out;
  const auto* const found = std::ranges::find(kSigns, word, &Sign::word);
  if (found == kSigns.end()) return out << "<span class=\"badge calm\">" << word << "</span>";
  return out << "<span class=\"badge " << found->kind << "\"><i aria-hidden=\"true\">"
             << found->sign << "</i> " << found->shown << "</span>";
}

std::string end_word(const TaskView& task) {
  if (task.state != TaskState::done) return std::string(task_state_name(task.state));
  if (task.promotion) return "promoted";
  return task.failure_class == "review" ? "refused" : task.verdict;
}

std::string duration_text(std::int64_t milliseconds) {
  if (milliseconds < 1000) return std::to_string(milliseconds) + " ms";
  if (milliseconds < 60'000) return fixed(static_cast<double>(milliseconds) / 1000, 1) + " s";
  return std::to_string(milliseconds / 60'000) + " min " +
         std::to_string(milliseconds / 1000 % 60) + " s";
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array kUnits{" B", " KiB", " MiB", " GiB", " TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); value /= 1024) ++unit;
  return fixed(value, unit == 0 || value >= 100 ? 0 : 1) + kUnits.at(unit);
}

std::string delta_text(double ratio) {
  const double percent = (ratio - 1) * 100;
  return (percent >= 0 ? "+" : "−") + fixed(std::abs(percent), std::abs(percent) < 10 ? 1 : 0) +
         " %";
}

std::string nanoseconds_text(double nanoseconds) {
  constexpr std::array kUnits{" ns", " µs", " ms", " s"};
  std::size_t unit = 0;
  for (; nanoseconds >= 1000 && unit + 1 < kUnits.size(); nanoseconds /= 1000) ++unit;
  const int decimals = nanoseconds < 10 ? 2 : nanoseconds < 100 ? 1 : 0;
  return fixed(nanoseconds, decimals) + kUnits.at(unit);
}

Html problem_body(const ServiceError& error) {
  Html out;
  out << "<h1>" << badge("refused") << " " << error.problem << "</h1><p class=\"lead\">"
      << error.detail << "</p>";
  if (!error.next_step.empty()) out << "<p>What to do: " << error.next_step << "</p>";
  return out << "<p><a href=\"/tasks\">To the queue</a></p>";
}

}  // namespace runner::web
