// Page: what all pages have in common, and the words and small parts that they share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "runner/service.h"
#include "runner/web/html.h"

namespace runner::web {

// What a page knows of its viewer and place.
struct Frame {
  const Actor* actor = nullptr;  // nullptr: not logged in
  std::string csrf;
  std::string title;
  Markup place = "";  // which entry of the navigation is current: "queue", "board", "projects"
  std::string live;   // path of the event stream that tells of changes; empty: a still page
  Html body;
};

// The whole document.
std::string render(const Frame& frame);

// The hidden field that every form of a session has.
Html csrf_field(const std::string& csrf);

// "3 min ago", with the exact time beside it. `at` is RFC 3339 UTC text of ours.
Html age(std::string_view at);
// First digits of a commit or digest, the whole as its title.
Html short_id(std::string_view id);

// A state or verdict as a word with a sign: never by colour alone.
Html badge(std::string_view word);
// What a task is in one word: its state while it goes on, else "promoted" or its verdict.
std::string end_word(const TaskView& task);

std::string duration_text(std::int64_t milliseconds);
std::string bytes_text(std::int64_t bytes);
// "+4.2 %" of a ratio.
std::string delta_text(double ratio);
// "1.24 µs"
std::string nanoseconds_text(double nanoseconds);

// A page that says what went wrong and what to do next.
Html problem_body(const ServiceError& error);

}  // namespace runner::web
