// Text of hostile origin: made harmless before anything else sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tasks::reports {

// Which part of a text that is too long is kept.
enum class Keep : unsigned char { head, tail };

// `text` with invalid UTF-8 as U+FFFD and control characters but tab and newline as "\x1B"; at most
// `limit` bytes, with "…" where something was cut. CR before LF goes.
std::string clean_text(std::string_view text, std::size_t limit, Keep keep = Keep::head);

}  // namespace tasks::reports
