// Escapes: what text of others becomes where its characters would act: in URLs, in markup, on a
// screen. All from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace os {

// For a component of a URL: every byte that is not unreserved (RFC 3986 §2.3) and not in `kept`
// becomes %XX.
std::string percent_encode(std::string_view text, std::string_view kept = {});

// What stands for a character in text and attribute values of HTML and XML: the entity of & < > "
// and '; empty: it may stand as it is.
std::string_view markup_entity(char c);

// Text with all of them replaced.
std::string escape_markup(std::string_view text);

// True for characters that change how others look or are read, or that are not to be seen at all:
// controls, bidirectional and zero-width ones, invisible fillers, variation selectors, tags, and
// the separators that some programs take for a line's end (Unicode 15: Cc, Cf, Zl, Zp and those
// default-ignorable).
bool acts_unseen(std::uint32_t point);

}  // namespace os
