#include "tasks/reports/json_scanner.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr std::size_t kMaxJsonDepth = 64;
constexpr std::size_t kMaxKeys = 10'000;
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kDecimalDigits = "0123456789";

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    put(0xE0U | code >> 12U);
    put(0x80U | (code >> 6U & 0x3FU));
  } else {
    put(0xF0U | code >> 18U);
    put(0x80U | (code >> 12U & 0x3FU));
    put(0x80U | (code >> 6U & 0x3FU));
  }
  put(0x80U | (code & 0x3FU));
}

// RFC 8259 §6: an optional minus, digits without a leading zero, a fraction, an exponent.
bool is_number(std::string_view text) {
  const auto skip_digits = [&text] {
    const std::size_t count = std::min(text.find_first_not_of(kDecimalDigits), text.size());
    text.remove_prefix(count);
    return count;
  };
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool leads_with_zero = text.starts_with('0');
  const std::size_t whole = skip_digits();
  if (whole == 0 || (leads_with_zero && whole > 1)) return false;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (skip_digits() == 0) return false;
  }
  return text.empty();
}

}  // namespace

void JsonScanner::fail(std::string_view why) {
  if (failed()) return;
  const auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
  error_ = "line " + std::to_string(line) + ": " + std::string(why);
  at_ = text_.size();
}

char JsonScanner::peek() {
  if (failed()) return '\0';
  at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonScanner::take(char expected) {
  if (peek() == expected && at_ < text_.size()) {
    ++at_;
    return true;
  }
  fail(at_ >= text_.size() ? std::string("the file ends too early")
                           : std::string("expected '") + expected + "'");
  return false;
}

bool JsonScanner::enter(char open) {
  if (levels_.size() == kMaxJsonDepth) fail("nesting is over 64 levels");
  if (!take(open)) return false;
  levels_.push_back({open == '{' ? '}' : ']', true, {}});
  return true;
}

// Passes the comma before an element, or the end of the object or array.
bool JsonScanner::next_element() {
  if (failed() || levels_.empty()) return false;
  Level& level = levels_.back();
  if (peek() == level.close) {
    ++at_;
    levels_.pop_back();
    return false;
  }
  if (!std::exchange(level.is_first, false) && !take(',')) return false;
  return !failed();
}

bool JsonScanner::next_key(std::string& key) {
  if (!next_element()) return false;
  key = string();
  if (failed()) return false;
  if (levels_.back().keys.size() == kMaxKeys) {
    fail("an object has over 10,000 keys");
    return false;
  }
  if (!levels_.back().keys.insert(key).second) {
    fail("key '" + clean_text(key, 100) + "' stands twice");
    return false;
  }
  return take(':');
}

bool JsonScanner::next_item() { return next_element(); }

char JsonScanner::kind() {
  const char next = peek();
  if (next == '-' || next == 'N' || next == 'I' || (next >= '0' && next <= '9')) return '0';
  return next;
}

bool JsonScanner::take_null() {
  if (peek() != 'n' || !text_.substr(at_).starts_with("null")) return false;
  at_ += 4;
  return true;
}

std::string JsonScanner::string() {
  std::string out;
  if (!take('"')) return out;
  while (!failed()) {
    const std::size_t end = std::min(text_.find_first_of("\"\\\n", at_), text_.size());
    out += text_.substr(at_, end - at_);
    at_ = end;
    if (at_ == text_.size()) {
      fail("the file ends within a string");
    } else if (text_[at_] == '"') {
      ++at_;
      return out;
    } else if (text_[at_] == '\n') {
      fail("a line ends within a string");
    } else {
      read_escape(out);
    }
  }
  return {};
}

void JsonScanner::read_escape(std::string& out) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  ++at_;
  if (at_ == text_.size()) return fail("the file ends within a string");
  const char name = text_[at_++];
  if (const std::size_t found = kNames.find(name); found != std::string_view::npos) {
    out += kValues[found];
    return;
  }
  if (name != 'u') return fail("unknown escape in a string");
  std::optional<std::uint32_t> unit = read_code_unit();
  if (!unit) return fail("\\u needs four hexadecimal digits");
  const bool is_high = *unit >= 0xD800 && *unit < 0xDC00;
  if (is_high && text_.substr(at_).starts_with("\\u")) {
    const std::size_t before = at_;
    at_ += 2;
    const std::optional<std::uint32_t> low = read_code_unit();
    if (low && *low >= 0xDC00 && *low < 0xE000)
      unit = 0x10000 + ((*unit - 0xD800) << 10U) + (*low - 0xDC00);
    else
      at_ = before;
  }
  // A lone half of a pair is no character.
  append_utf8(out, *unit >= 0xD800 && *unit < 0xE000 ? 0xFFFD : *unit);
}

std::optional<std::uint32_t> JsonScanner::read_code_unit() {
  const std::string_view digits = text_.substr(at_, 4);
  std::uint32_t unit = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
  if (error != std::errc{} || digits.size() != 4 || end != digits.data() + 4) return std::nullopt;
  at_ += 4;
  return unit;
}

// The number that comes next; empty for NaN and infinities, and after an error.
std::string_view JsonScanner::number_text() {
  peek();
  if (failed()) return {};
  const std::size_t end = std::min(text_.find_first_of(" \t\r\n,]}:", at_), text_.size());
  const std::string_view text = text_.substr(at_, end - at_);
  constexpr std::array<std::string_view, 6> kOdd{"NaN", "-NaN", "Infinity",
                                                 "nan", "-nan", "-Infinity"};
  const bool is_odd = std::ranges::find(kOdd, text) != kOdd.end();
  if (!is_odd && !is_number(text)) {
    fail("not a number: " + clean_text(text, 40));
    return {};
  }
  at_ = end;
  if (is_odd) ++odd_numbers_;
  return is_odd ? std::string_view() : text;
}

std::optional<double> JsonScanner::number() {
  const std::string_view text = number_text();
  if (text.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> JsonScanner::integer() {
  const std::string_view text = number_text();
  if (text.empty()) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool JsonScanner::boolean() {
  peek();
  const std::string_view rest = text_.substr(at_);
  const bool value = rest.starts_with("true");
  if (!value && !rest.starts_with("false")) {
    fail("expected true or false");
    return false;
  }
  at_ += value ? 4 : 5;
  return value;
}

void JsonScanner::skip() {
  std::string key;
  switch (peek()) {
    case '{':
      if (enter('{'))
        while (next_key(key)) skip();
      break;
    case '[':
      if (enter('['))
        while (next_item()) skip();
      break;
    case '"':
      string();
      break;
    case 't':
    case 'f':
      boolean();
      break;
    case 'n':
      if (!take_null()) number_text();
      break;
    default:
      number_text();
      break;
  }
}

void JsonScanner::finish() {
  if (failed()) return;
  peek();
  if (at_ < text_.size()) fail("something follows the end of the JSON value");
}

}  // namespace tasks::reports
