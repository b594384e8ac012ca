// Html: markup under construction. Literals in the source are markup, values are text: nothing
// that comes from outside can become a tag, because it has another type.
//
// Text shows what would act unseen: control characters, bidirectional and zero-width ones, and
// bytes that are no UTF-8 appear as escapes like \u{202e}, never as themselves (DESIGN.md §7, 6).
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "runner/plot.h"

namespace runner::web {

// A string literal of ours. Only the compiler can make one.
class Markup {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): that literals convert is the point.
  consteval Markup(const char* literal) : text_(literal) {}
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

class Html {
 public:
  Html& operator<<(Markup markup) {
    out_.append(markup.text());
    return *this;
  }
  // As text or attribute value: one line, whatever is in it.
  template <class T>
    requires std::same_as<T, std::string> || std::same_as<T, std::string_view>
  Html& operator<<(const T& text) {
    add_text(text);
    return *this;
  }
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  Html& operator<<(T number) {
    out_.append(std::to_string(number));
    return *this;
  }
  Html& operator<<(const Svg& picture) {
    out_.append(picture.text());
    return *this;
  }
  Html& operator<<(const Html& part) {
    out_.append(part.out_);
    return *this;
  }

  // As text of an element: escapes are marked by <b class="x">, `\n` and tabs stay.
  Html& code(std::string_view text);
  // As a component of a URL's path or query, percent-encoded.
  Html& url(std::string_view component);

  std::string take() { return std::move(out_); }
  std::size_t size() const { return out_.size(); }

 private:
  void add_text(std::string_view text);
  std::string out_;
};

// "\u{202e}", "\x1b", "\xff": what stands for a character that must not act; empty: it may stand
// as it is. `bytes` is its length. Text that is no UTF-8 answers one byte.
struct ShownCharacter {
  std::string escape;
  std::size_t bytes = 1;
};
ShownCharacter show_character(std::string_view text);

}  // namespace runner::web
