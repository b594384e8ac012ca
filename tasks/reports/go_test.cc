#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "tasks/reports/json_scanner.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// Output kept of all tests and packages together, while they run or because they failed.
constexpr std::size_t kMaxOutput = 32U << 20U;

// One line (go doc test2json).
struct Event {
  std::string action;
  std::string package;
  std::string test;
  std::string output;
  std::string import_path;  // of build-output and build-fail
  std::int64_t milliseconds = 0;
};

// How often a test or package began and ended, and how.
struct Progress {
  std::int64_t runs = 0;
  std::int64_t ends = 0;
  bool has_passed = false;
  bool has_failed = false;
  bool has_skipped = false;
  std::int64_t milliseconds = 0;
  std::string output;  // its end

  bool is_unfinished() const { return runs > ends; }
};

os::Result<Event> read_event(std::string_view line) {
  JsonScanner scanner(line);
  Event event;
  std::string key;
  if (scanner.enter('{')) {
    while (scanner.next_key(key)) {
      if (key == "Action")
        event.action = scanner.string();
      else if (key == "Package")
        event.package = clean_text(scanner.string(), kMaxId);
      else if (key == "Test")
        event.test = clean_text(scanner.string(), kMaxId);
      else if (key == "Output")
        event.output = scanner.string();
      else if (key == "ImportPath")
        event.import_path = clean_text(scanner.string(), kMaxId);
      else if (key == "Elapsed")
        event.milliseconds =
            static_cast<std::int64_t>(std::clamp(scanner.number().value_or(0), 0.0, 1e9) * 1000);
      else
        scanner.skip();
    }
  }
  scanner.finish();
  if (scanner.failed()) {
    // The line's number is said by the caller.
    const std::string& error = scanner.error();
    return os::fail(os::Code::invalid, error.substr(error.find(": ") + 2));
  }
  if (event.action.empty()) return os::fail(os::Code::invalid, "an event without 'Action'");
  return event;
}

// "    ring_test.go:41: got 3" of a failed test.
void find_place(TestCase& test) {
  const std::string_view text = test.message;
  for (std::size_t at = text.find(".go:"); at != text.npos; at = text.find(".go:", at + 1)) {
    std::int64_t line = 0;
    const char* const digits = text.data() + at + 4;
    const auto [end, error] = std::from_chars(digits, text.data() + text.size(), line);
    if (error != std::errc{} || end == text.data() + text.size() || *end != ':') continue;
    const std::size_t begin = text.find_last_of(" \t\n", at) + 1;
    test.file = clean_text(text.substr(begin, at + 3 - begin), kMaxFileName);
    test.line = line;
    return;
  }
}

class GoReader {
 public:
  os::Result<TestReport> read(std::string_view bytes) {
    // A file without its last newline lost what came after.
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find('\n'), bytes.size());
      ++line_;
      std::string_view line = bytes.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (os::Result<void> read = read_line(line); !read) {
        return os::fail(os::Code::invalid, fmt::format("line {}: {}", line_, read.error().message));
      }
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    if (events_ == 0 && packages_.empty())
      return os::fail(os::Code::invalid, "no event: not the output of go test -json");
    return finish();
  }

 private:
  os::Result<void> read_line(std::string_view line) {
    if (line.find_first_not_of(" \t") == line.npos) return {};
    if (!line.starts_with('{')) {
      read_loose_line(line);
      return {};
    }
    const Event event = TRY(read_event(line));
    ++events_;
    return take(event);
  }

  // Plain text between the events: a package that does not build is named nowhere else before Go
  // 1.24 ("FAIL\texample.com/ring [build failed]").
  void read_loose_line(std::string_view line) {
    add_output(loose_, std::string(line) + "\n");
    if (!line.starts_with("FAIL")) return;
    const std::size_t end = line.find(" [");
    if (!line.starts_with("FAIL\t") || end == line.npos || packages_.size() == kMaxCases) {
      has_loose_failure_ = true;
      return;
    }
    Progress& package = packages_[clean_text(line.substr(5, end - 5), kMaxId)];
    package.has_failed = true;
    ++package.ends;
  }

  os::Result<void> take(const Event& event) {
    if (event.action == "build-output") {
      add_output(builds_[event.import_path].output, event.output);
      return {};
    }
    if (event.action == "build-fail") {
      builds_[event.import_path].has_failed = true;
      return {};
    }
    if (event.package.empty()) return os::fail(os::Code::invalid, "an event without 'Package'");
    if (!packages_.contains(event.package) ||
        (!event.test.empty() && !tests_.contains({event.package, event.test}))) {
      if (packages_.size() + tests_.size() >= kMaxCases)
        return os::fail(os::Code::invalid, "over 100,000 test cases");
    }
    Progress& package = packages_[event.package];
    Progress& progress = event.test.empty() ? package : tests_[{event.package, event.test}];
    return advance(event, progress);
  }

  os::Result<void> advance(const Event& event, Progress& progress) {
    const std::string& action = event.action;
    if (action == "run" || action == "start") {
      ++progress.runs;
    } else if (action == "output") {
      add_output(progress.output, event.output);
    } else if (action == "pass" || action == "fail" || action == "skip" || action == "bench") {
      ++progress.ends;
      progress.milliseconds += event.milliseconds;
      progress.has_passed = progress.has_passed || action == "pass" || action == "bench";
      progress.has_failed = progress.has_failed || action == "fail";
      progress.has_skipped = progress.has_skipped || action == "skip";
      if (action == "pass" && !progress.has_failed) {
        kept_ -= progress.output.size();
        progress.output.clear();
      }
    } else if (action != "pause" && action != "cont" && action != "attr" && action != "artifacts") {
      return os::fail(os::Code::invalid, "unknown action '" + clean_text(action, 40) + "'");
    }
    return {};
  }

  // Keeps the end, bounded for each and for all.
  void add_output(std::string& output, std::string_view text) {
    const std::size_t before = output.size();
    if (kept_ + text.size() > kMaxOutput) return;
    output += text;
    if (output.size() > 2 * kMaxMessage) output.erase(0, output.size() - kMaxMessage);
    kept_ += output.size() - before;
  }

  os::Result<TestReport> finish() {
    TestReport report;
    std::map<std::string, bool, std::less<>> has_bad;
    for (const auto& [key, progress] : tests_) {
      TestCase test = judge(key.second, progress);
      test.id = key.first + "." + key.second;
      has_bad[key.first] = has_bad[key.first] || test.status == CaseStatus::failed;
      report.cases.push_back(std::move(test));
    }
    bool has_failed_package = false;
    for (const auto& [name, progress] : packages_) {
      has_failed_package = has_failed_package || progress.has_failed;
      if (has_bad[name]) continue;
      if (progress.has_failed)
        report.cases.push_back(package_error(name, "failed, but none of its tests did", progress));
      else if (progress.ends == 0)
        report.cases.push_back(package_error(name, "ended without a result", progress));
    }
    for (const auto& [name, progress] : builds_) {
      if (!progress.has_failed || packages_.contains(package_of(name))) continue;
      report.cases.push_back(package_error(name, "does not build", progress));
    }
    const bool has_failure =
        has_failed_package || std::ranges::any_of(report.cases, [](const TestCase& test) {
          return test.status == CaseStatus::failed;
        });
    if (has_loose_failure_ && !has_failure)
      return os::fail(os::Code::invalid, "FAIL stands between the events, but nothing failed");
    return report;
  }

  // "example.com/ring [example.com/ring.test]" → "example.com/ring".
  static std::string package_of(const std::string& import_path) {
    return import_path.substr(0, import_path.find(' '));
  }

  static TestCase judge(const std::string& name, const Progress& progress) {
    TestCase test;
    test.milliseconds = progress.milliseconds;
    if (progress.has_failed) {
      test.status = CaseStatus::failed;
    } else if (progress.is_unfinished() || progress.ends == 0) {
      // A panic in a goroutine, os.Exit or a killed program (golang/go#38382).
      test.status = CaseStatus::failed;
      test.message = "began and never ended\n";
    } else if (progress.has_passed) {
      test.status = CaseStatus::passed;
      return test;
    } else {
      test.status = CaseStatus::skipped;
    }
    std::string_view output = progress.output;
    const std::string begin = "=== RUN   " + name + "\n";
    if (output.starts_with(begin)) output.remove_prefix(begin.size());
    test.message += clean_text(output, kMaxMessage - test.message.size(), Keep::tail);
    while (test.message.ends_with('\n')) test.message.pop_back();
    if (test.status == CaseStatus::failed) find_place(test);
    return test;
  }

  TestCase package_error(const std::string& name, std::string_view what,
                         const Progress& progress) const {
    TestCase test;
    test.id = name;
    test.status = CaseStatus::error;
    std::string output;
    for (const auto& [path, build] : builds_)
      if (package_of(path) == name && &build != &progress) output += build.output;
    output += progress.output;
    if (output.empty()) output = loose_;
    test.message = fmt::format("the package {}\n", what);
    test.message += clean_text(output, kMaxMessage - test.message.size(), Keep::tail);
    while (test.message.ends_with('\n')) test.message.pop_back();
    find_place(test);
    return test;
  }

  std::map<std::string, Progress> packages_;
  std::map<std::pair<std::string, std::string>, Progress> tests_;
  std::map<std::string, Progress> builds_;
  std::string loose_;  // lines that are no events
  bool has_loose_failure_ = false;
  std::size_t kept_ = 0;
  std::size_t line_ = 0;
  std::size_t events_ = 0;
};

}  // namespace

os::Result<TestReport> read_go_test(std::string_view bytes) { return GoReader().read(bytes); }

}  // namespace tasks::reports
