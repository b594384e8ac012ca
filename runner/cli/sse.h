// Server-sent events, as far as our server sends them (WHATWG HTML, 9.2.6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runner::cli {

struct Event {
  std::string id, type, data;
};

// Cuts a stream into events.
class EventParser {
 public:
  // An event of more bytes is dropped.
  static constexpr std::size_t kMaxEvent = 1U << 20U;

  // The events that are complete after this piece.
  std::vector<Event> take(std::string_view piece);

 private:
  void take_line(std::string_view line, std::vector<Event>& events);
  std::string rest_;
  Event event_;
};

}  // namespace runner::cli
