#include <algorithm>
#include <string_view>
#include <vector>

#include "runner/web/page.h"
#include "runner/web/pages.h"

namespace runner::web {
namespace {

constexpr std::int64_t kShownLines = 1000;
constexpr std::size_t kLineLimit = 4000;  // bytes of a line
constexpr std::size_t kMostHits = 500;

// Without the escape sequences that only choose colours ("\x1b[…m", ECMA-48 SGR): they say nothing
// to a reader, and all others are shown as what they are.
std::string without_colours(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find("\x1b[", at);
    if (begin == line.npos) {
      out += line.substr(at);
      break;
    }
    const std::size_t end = line.find_first_not_of("0123456789;:", begin + 2);
    const bool is_colour = end != line.npos && line[end] == 'm';
    out += line.substr(at, begin - at);
    if (!is_colour) out += line.substr(begin, 2);
    at = is_colour ? end + 1 : begin + 2;
  }
  return out;
}

struct Lines {
  std::vector<std::string_view> all;
  std::int64_t gap = -1;  // number of lines before what was left out; -1: nothing was
};

Lines split(const LogData& data) {
  Lines lines;
  std::string_view text = data.text;
  std::size_t at = 0;
  while (!text.empty()) {
    if (data.omitted > 0 && lines.gap < 0 && at >= static_cast<std::size_t>(data.head))
      lines.gap = static_cast<std::int64_t>(lines.all.size());
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const std::size_t taken = end == text.npos ? text.size() : end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.all.push_back(line);
    at += taken;
    text.remove_prefix(taken);
  }
  return lines;
}

void add_line(Html& out, std::int64_t number, std::string_view line) {
  out << "<tr id=\"L" << number << "\"><td class=\"n\"><a href=\"#L" << number << "\">" << number
      << "</a></td><td class=\"c\">";
  const std::string plain = without_colours(line.substr(0, kLineLimit));
  out.code(plain);
  if (line.size() > kLineLimit)
    out << " <b class=\"x\">+" << line.size() - kLineLimit << " bytes</b>";
  out << "</td></tr>";
}

void add_gap(Html& out, std::int64_t bytes) {
  out << "<tr class=\"h\"><td></td><td>" << bytes_text(bytes)
      << " in between are not kept; line numbers go on without them</td></tr>";
}

void add_window(Html& out, const LogData& data, const Lines& lines) {
  const auto count = static_cast<std::int64_t>(lines.all.size());
  const std::int64_t first =
      std::clamp<std::int64_t>(data.from, 1, std::max<std::int64_t>(count, 1));
  const std::int64_t last = std::min(count, first + kShownLines - 1);
  for (std::int64_t number = first; number <= last; ++number) {
    if (number - 1 == lines.gap) add_gap(out, data.omitted);
    add_line(out, number, lines.all[static_cast<std::size_t>(number - 1)]);
  }
}

std::size_t add_hits(Html& out, const LogData& data, const Lines& lines) {
  std::size_t hits = 0;
  for (std::size_t i = 0; i < lines.all.size(); ++i) {
    if (!without_colours(lines.all[i]).contains(data.search)) continue;
    if (++hits <= kMostHits) add_line(out, static_cast<std::int64_t>(i) + 1, lines.all[i]);
  }
  return hits;
}

void add_pager(Html& out, const LogData& data, std::int64_t count) {
  if (count <= kShownLines) return;
  out << "<nav class=\"tabs\" aria-label=\"Parts of the log\">";
  for (std::int64_t from = 1; from <= count; from += kShownLines) {
    out << "<a href=\"?from=" << from << "\"";
    if (data.from >= from && data.from < from + kShownLines) out << " aria-current=\"true\"";
    out << ">" << from << "–" << std::min(count, from + kShownLines - 1) << "</a>";
  }
  out << "</nav>";
}

}  // namespace

Html log_body(const LogData& data) {
  const Lines lines = split(data);
  Html out;
  out << "<p class=\"crumbs\"><a href=\"/tasks\">Queue</a> / <a href=\"/tasks/" << data.task.id
      << "\">" << (data.task.title.empty() ? data.task.id : data.task.title)
      << "</a></p><h1>Log of " << data.run
      << "</h1><form class=\"filters\" method=\"get\" role=\"search\"><label>Find "
      << "<input name=\"q\" value=\"" << data.search
      << "\"></label><button>Find</button><span class=\"dim\">" << bytes_text(data.total)
      << " printed";
  if (!data.finished) out << ", still running";
  out << "</span></form><div id=\"log\" data-part>";
  if (data.search.empty()) add_pager(out, data, static_cast<std::int64_t>(lines.all.size()));
  Html rows;
  std::size_t hits = 0;
  if (data.search.empty())
    add_window(rows, data, lines);
  else
    hits = add_hits(rows, data, lines);
  if (!data.search.empty()) {
    out << "<p>" << hits << " line(s) have “" << data.search << "”";
    if (hits > kMostHits) out << "; the first " << kMostHits << " are shown";
    out << ". <a href=\"?\">The whole log</a></p>";
  }
  if (lines.all.empty()) return out << "<p class=\"empty\">Nothing was printed.</p></div>";
  return out << "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Log\">"
                "<table class=\"log\"><tbody>"
             << rows << "</tbody></table></div></div>";
}

}  // namespace runner::web
