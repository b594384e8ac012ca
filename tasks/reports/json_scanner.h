// JsonScanner: reads hostile JSON front to back, one value at a time, without building anything.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tasks::reports {

// Stricter and laxer than JSON: a key that stands twice in an object and nesting over 64 are
// errors; the words NaN, Infinity and -Infinity are numbers (Google Benchmark writes them) but
// counted as odd; invalid UTF-8 and control characters in strings are handed on as they are.
//
// The first error sticks: from then on every question is answered with nothing.
//   if (scanner.enter('{')) while (scanner.next_key(key)) … ; scanner.finish()
class JsonScanner {
 public:
  // `text` outlives the scanner.
  explicit JsonScanner(std::string_view text) : text_(text) {}

  // Enters the object or array that comes next; an error if something else comes.
  bool enter(char open);
  // In an object: moves to the next value and gives its key; false at the object's end.
  bool next_key(std::string& key);
  // In an array: moves to the next value; false at the array's end.
  bool next_item();

  // The value that comes next; an error if it is of another type. What is no number (NaN …) is
  // nothing, but no error.
  std::string string();
  std::optional<double> number();
  std::optional<std::int64_t> integer();  // nothing, too, with a fraction or out of range
  bool boolean();
  // Passes over any value.
  void skip();

  // What comes next: one of { [ " t f n, or 0 for a number; '\0' at the end. `n` is null or nan.
  char kind();
  // Passes over null, if it comes next.
  bool take_null();
  // How often NaN or an infinity was passed so far.
  std::int64_t odd_numbers() const { return odd_numbers_; }

  // Nothing but white space may be left.
  void finish();
  bool failed() const { return !error_.empty(); }
  // "line 3: …", empty without error.
  const std::string& error() const { return error_; }
  void fail(std::string_view why);

 private:
  struct Level {
    char close = '}';
    bool is_first = true;
    std::set<std::string, std::less<>> keys;
  };

  char peek();
  bool take(char expected);
  bool next_element();
  std::string_view number_text();
  void read_escape(std::string& out);
  std::optional<std::uint32_t> read_code_unit();

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
  std::int64_t odd_numbers_ = 0;
  std::string error_;
};

}  // namespace tasks::reports
