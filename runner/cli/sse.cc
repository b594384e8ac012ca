#include "runner/cli/sse.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace runner::cli {

std::vector<Event> EventParser::take(std::string_view piece) {
  std::vector<Event> events;
  rest_ += piece;
  std::size_t from = 0;
  for (std::size_t end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', from)) {
    take_line(std::string_view(rest_).substr(from, end - from), events);
    from = end + 1;
  }
  rest_.erase(0, from);
  if (rest_.size() > kMaxEvent) rest_.clear();
  return events;
}

void EventParser::take_line(std::string_view line, std::vector<Event>& events) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (!event_.data.empty()) events.push_back(std::move(event_));
    event_ = {};
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") {
    event_.id = value;
  } else if (name == "event") {
    event_.type = value;
  } else if (name == "data" && event_.data.size() + value.size() <= kMaxEvent) {
    if (!event_.data.empty()) event_.data += '\n';
    event_.data += value;
  }
}

}  // namespace runner::cli
