#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr std::size_t kMaxLevels = 16;
constexpr std::size_t kIndent = 4;  // of a subtest, in TAP 14

enum class Directive : std::uint8_t { none, skip, todo };

// A line "[not ]ok [number] [- description] [# directive]".
struct Point {
  bool is_ok = false;
  std::optional<std::int64_t> number;
  std::string description;
  Directive directive = Directive::none;
  std::string reason;
};

// The tests of one level of indentation, until the test that they are the subtests of.
struct Frame {
  std::optional<std::int64_t> plan;
  bool plan_was_first = false;
  std::int64_t count = 0;
  std::set<std::int64_t> numbers;
  std::string failure;  // the first, empty if none
};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool starts_with_word(std::string_view text, std::string_view lower_word) {
  if (text.size() < lower_word.size()) return false;
  return std::ranges::equal(text.substr(0, lower_word.size()), lower_word, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

Directive directive_of(std::string_view text) {
  if (starts_with_word(text, "skip")) return Directive::skip;
  const bool ends = text.size() == 4 || (text.size() > 4 && (text[4] == ' ' || text[4] == ':'));
  return starts_with_word(text, "todo") && ends ? Directive::todo : Directive::none;
}

// Splits a description from its directive; "\#" and "\\" are plain characters.
void read_description(std::string_view text, Point& point) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '#' || text[i + 1] == '\\');
    if (is_escape) {
      point.description += text[++i];
      continue;
    }
    if (text[i] == '#') {
      const std::string_view rest = trim(text.substr(i + 1));
      point.directive = directive_of(rest);
      if (point.directive != Directive::none) {
        point.reason = trim(rest.substr(std::min(rest.find_first_of(" :"), rest.size())));
        break;
      }
    }
    point.description += text[i];
  }
  point.description = trim(point.description);
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::optional<Point> parse_point(std::string_view text) {
  Point point;
  point.is_ok = !text.starts_with("not ok");
  if (!point.is_ok) text.remove_prefix(4);
  if (!text.starts_with("ok")) return std::nullopt;
  text.remove_prefix(2);
  if (!text.empty() && text.front() != ' ' && text.front() != '\t' && text.front() != '#')
    return std::nullopt;
  text = trim(text);
  std::string_view after = text;
  const std::optional<std::int64_t> number = take_number(after);
  // "ok 2nd try" has no number.
  if (number && (after.empty() || after.front() == ' ' || after.front() == '#')) {
    point.number = number;
    text = trim(after);
  }
  if (text.starts_with('-')) text = trim(text.substr(1));
  read_description(text, point);
  return point;
}

class TapReader {
 public:
  os::Result<TestReport> read(std::string_view bytes) {
    while (!bytes.empty() && error_.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      std::string_view line = bytes.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      ++line_;
      read_line(line);
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    if (yaml_indent_) fail("a YAML block is not closed");
    if (frames_.size() > 1) fail("a subtest is not followed by its test");
    if (const std::string why = why_incomplete(frames_.front()); !why.empty()) fail(why);
    if (!error_.empty()) return os::fail(os::Code::invalid, error_);
    for (TestCase& test : report_.cases) test.message = clean_text(test.message, kMaxMessage);
    return std::move(report_);
  }

 private:
  void fail(std::string_view why) {
    if (error_.empty()) error_ = fmt::format("line {}: {}", line_, why);
  }

  void read_line(std::string_view line) {
    if (yaml_indent_) return read_yaml(line);
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const std::string_view text = trim(line);
    if (text.empty()) return;
    if (text == "---" && follows_point_ && indent == last_level_ * kIndent + 2) {
      yaml_indent_ = indent;
      return;
    }
    if (starts_with_word(text, "bail out!"))
      return fail("the tests gave up: " + clean_text(text, 200));
    // Anything that is no TAP may stand between; the plan tells if a test got lost in it.
    if (indent % kIndent != 0) return;
    if (text.front() == '#') return add_diagnostic(text);
    read_statement(indent / kIndent, text);
  }

  void read_statement(std::size_t level, std::string_view text) {
    if (text.starts_with("TAP version ")) {
      std::string_view rest = text.substr(12);
      const std::optional<std::int64_t> version = take_number(rest);
      if (!version || *version < 12 || *version > 14) fail("TAP version is none of 12, 13, 14");
      return;
    }
    std::string_view rest = text;
    if (rest.starts_with("1..")) {
      rest.remove_prefix(3);
      const std::optional<std::int64_t> plan = take_number(rest);
      if (plan && (trim(rest).empty() || trim(rest).front() == '#')) return set_plan(level, *plan);
    }
    if (const std::optional<Point> point = parse_point(text)) add_point(level, *point);
  }

  void read_yaml(std::string_view line) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == *yaml_indent_ && trim(line) == "...") {
      yaml_indent_.reset();
    } else if (!line.empty() && indent < *yaml_indent_) {
      fail("a YAML block is not closed");
    } else {
      add_diagnostic(line.substr(std::min(*yaml_indent_, line.size())));
    }
  }

  void add_diagnostic(std::string_view text) {
    if (!follows_point_ || last_level_ != 0 || report_.cases.empty()) return;
    TestCase& test = report_.cases.back();
    if (test.status != CaseStatus::failed || test.message.size() > kMaxMessage) return;
    if (!test.message.empty()) test.message += '\n';
    test.message += text;
  }

  Frame* frame_at(std::size_t level) {
    if (level >= kMaxLevels) {
      fail("subtests are nested over 16 levels");
      return nullptr;
    }
    if (level >= frames_.size()) frames_.resize(level + 1);
    return &frames_[level];
  }

  void set_plan(std::size_t level, std::int64_t plan) {
    Frame* const frame = frame_at(level);
    if (frame == nullptr) return;
    if (frame->plan) return fail("a second plan");
    if (plan > static_cast<std::int64_t>(kMaxCases)) return fail("over 100,000 test cases");
    frame->plan = plan;
    frame->plan_was_first = frame->count == 0;
  }

  // Why the tests of a level are not all that was planned; empty: they are.
  static std::string why_incomplete(const Frame& frame) {
    if (!frame.plan) return "there is no plan (1..N)";
    if (*frame.plan != frame.count)
      return fmt::format("the plan says {} tests, {} came", *frame.plan, frame.count);
    if (!frame.numbers.empty() && *frame.numbers.rbegin() > *frame.plan)
      return "a test has a number outside the plan";
    return {};
  }

  // What went wrong in the subtests of the test that comes now, which end here.
  std::string close_subtests(std::size_t level) {
    std::string why;
    for (std::size_t i = level + 1; i < frames_.size(); ++i) {
      const std::string incomplete = why_incomplete(frames_[i]);
      if (why.empty() && !frames_[i].failure.empty())
        why = "its subtest failed: " + frames_[i].failure;
      if (why.empty() && !incomplete.empty()) why = "its subtests: " + incomplete;
    }
    frames_.resize(std::min(frames_.size(), level + 1));
    return why;
  }

  void add_point(std::size_t level, const Point& point) {
    const std::string subtest_failure = close_subtests(level);
    Frame* const frame = frame_at(level);
    if (frame == nullptr) return;
    if (frame->plan && !frame->plan_was_first) return fail("a test after the plan at the end");
    if (frame->count == static_cast<std::int64_t>(kMaxCases))
      return fail("over 100,000 test cases");
    ++frame->count;
    const std::int64_t number = point.number.value_or(frame->count);
    if (number < 1 || !frame->numbers.insert(number).second)
      return fail(fmt::format("test number {} stands twice or is below 1", number));
    TestCase test = judge(point, number, subtest_failure);
    if (test.status == CaseStatus::failed && frame->failure.empty())
      frame->failure = clean_text(test.id, 200);
    follows_point_ = true;
    last_level_ = level;
    if (level == 0) report_.cases.push_back(std::move(test));
  }

  static TestCase judge(const Point& point, std::int64_t number, const std::string& subtests) {
    TestCase test;
    test.id = clean_text(point.description, kMaxId + 16);
    if (test.id.empty()) test.id = fmt::format("test {}", number);
    const bool passed = point.is_ok && subtests.empty();
    if (point.directive == Directive::todo && !passed) {
      test.status = CaseStatus::xfail;
      test.message =
          point.reason.empty() ? "expected to fail" : "expected to fail: " + point.reason;
    } else if (point.directive == Directive::todo) {
      test.status = CaseStatus::xpass;
      test.message = point.reason;
    } else if (!passed) {
      test.status = CaseStatus::failed;
      test.message = subtests;
    } else if (point.directive == Directive::skip) {
      test.status = CaseStatus::skipped;
      test.message = point.reason;
    } else {
      test.status = CaseStatus::passed;
    }
    return test;
  }

  TestReport report_;
  std::vector<Frame> frames_{1};
  std::optional<std::size_t> yaml_indent_;
  bool follows_point_ = false;
  std::size_t last_level_ = 0;
  std::size_t line_ = 0;
  std::string error_;
};

}  // namespace

os::Result<TestReport> read_tap(std::string_view bytes) { return TapReader().read(bytes); }

}  // namespace tasks::reports
