#include "tasks/reports/junit.h"

#include <algorithm>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "sandbox/os/utf8.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr int kMaxXmlDepth = 64;
// Elements and attributes: pugixml needs 64 and 40 bytes for one, the reader has 256 MiB.
constexpr std::size_t kMaxNodes = 2'000'000;
// Outcomes of one case: more say nothing more.
constexpr std::size_t kMaxOutcomes = 100;

std::size_t count_of(std::string_view bytes, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(what); at != std::string_view::npos;
       at = bytes.find(what, at + what.size()))
    ++count;
  return count;
}

std::size_t count_nodes(std::string_view bytes) {
  return count_of(bytes, "<") + count_of(bytes, "=\"") + count_of(bytes, "='");
}

// pugixml passes bytes on as they are: invalid UTF-8 is replaced before it sees them.
std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = os::decode_utf8(bytes).bytes;
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      out += bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

class DepthCheck : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node&) override { return depth() < kMaxXmlDepth; }
};

os::Result<pugi::xml_node> find_root(const pugi::xml_document& document) {
  pugi::xml_node root;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_doctype)
      return os::fail(os::Code::invalid, "a document type is not allowed");
    if (node.type() != pugi::node_element) continue;
    if (root) return os::fail(os::Code::invalid, "more than one root element");
    root = node;
  }
  const std::string_view name = root.name();
  if (name != "testsuites" && name != "testsuite")
    return os::fail(os::Code::invalid,
                    "the root element is not <testsuites> or <testsuite>: not JUnit");
  return root;
}

bool is_plain_child(std::string_view name) {
  return name == "system-out" || name == "system-err" || name == "properties" || name.empty();
}

JunitCase read_case(const pugi::xml_node& node) {
  const auto attribute = [&node](const char* name) {
    return std::string_view(node.attribute(name).value());
  };
  JunitCase test;
  test.class_name = attribute("classname");
  test.name = attribute("name");
  test.status = attribute("status");
  test.result = attribute("result");
  test.time = attribute("time");
  test.timestamp = attribute("timestamp");
  test.file = attribute("file");
  test.line = std::max<std::int64_t>(node.attribute("line").as_llong(), 0);
  test.output = node.child("system-out").text().get();
  test.error_output = node.child("system-err").text().get();
  for (const pugi::xml_node& child : node.children()) {
    const std::string_view element = child.name();
    if (is_plain_child(element) || test.outcomes.size() == kMaxOutcomes) continue;
    test.outcomes.push_back({element, child.attribute("type").value(),
                             child.attribute("message").value(), child.text().get()});
  }
  return test;
}

// An attribute that counts cases. No file lists as many as the bound, and what is added to others
// stays far from overflow.
std::int64_t counted_cases(const pugi::xml_node& node, const char* name) {
  constexpr std::int64_t kMost = 1'000'000'000'000;
  return std::clamp<std::int64_t>(node.attribute(name).as_llong(), 0, kMost);
}

// Walks suites that nest; depth was checked.
class SuiteWalk {
 public:
  explicit SuiteWalk(const JunitVisitor& visitor) : visitor_(visitor) {}

  os::Result<std::size_t> walk(const pugi::xml_node& node) {
    const std::size_t number = suites_.size();
    suites_.push_back({node.name(), node.attribute("name").value(), counted_cases(node, "tests"),
                       counted_cases(node, "failures"), counted_cases(node, "errors"), 0});
    std::size_t listed = 0;
    for (const pugi::xml_node& child : node.children()) {
      const std::string_view name = child.name();
      if (name == "testsuite") {
        listed += TRY(walk(child));
      } else if (name == "testcase") {
        TRY(take(child, number));
        ++listed;
      }
    }
    suites_[number].listed = listed;
    return listed;
  }

  os::Result<void> finish() const {
    for (const JunitSuite& suite : suites_) TRY(visitor_.take_suite(suite));
    return {};
  }

 private:
  os::Result<void> take(const pugi::xml_node& node, std::size_t number) {
    if (!node.attribute("name")) return os::fail(os::Code::invalid, "a <testcase> without a name");
    if (++cases_ > kMaxCases) return os::fail(os::Code::invalid, "over 100,000 test cases");
    JunitCase test = read_case(node);
    test.suite = suites_[number].name;
    test.suite_number = number;
    return visitor_.take_case(test);
  }

  const JunitVisitor& visitor_;
  std::vector<JunitSuite> suites_;
  std::size_t cases_ = 0;
};

// The worse of two ends of one test stands higher.
int severity(CaseStatus status) {
  switch (status) {
    case CaseStatus::error:
      return 8;
    case CaseStatus::failed:
      return 7;
    case CaseStatus::flaky:
      return 6;
    case CaseStatus::passed:
      return 5;
    case CaseStatus::xpass:
      return 4;
    case CaseStatus::xfail:
      return 3;
    case CaseStatus::skipped:
      return 2;
    case CaseStatus::disabled:
      return 1;
    case CaseStatus::notrun:
      return 0;
  }
  return 8;
}

}  // namespace

const JunitOutcome* JunitCase::find(std::string_view element) const {
  const auto found = std::ranges::find(outcomes, element, &JunitOutcome::element);
  return found == outcomes.end() ? nullptr : &*found;
}

os::Result<void> read_junit(std::string_view bytes, const JunitVisitor& visitor) {
  if (count_nodes(bytes) > kMaxNodes)
    return os::fail(os::Code::invalid, "over 2,000,000 elements and attributes");
  std::string text = valid_utf8(bytes);
  pugi::xml_document document;
  constexpr unsigned kOptions = pugi::parse_default | pugi::parse_doctype;
  const pugi::xml_parse_result parsed =
      document.load_buffer_inplace(text.data(), text.size(), kOptions, pugi::encoding_utf8);
  if (!parsed) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0));
    return os::fail(os::Code::invalid,
                    fmt::format("byte {}: not well-formed XML: {}", offset, parsed.description()));
  }
  DepthCheck depth;
  if (!document.traverse(depth)) return os::fail(os::Code::invalid, "nesting is over 64 levels");
  SuiteWalk walk(visitor);
  TRY(walk.walk(TRY(find_root(document))));
  return walk.finish();
}

os::Result<void> check_listed(const JunitSuite& suite) {
  if (suite.tests <= static_cast<std::int64_t>(suite.listed)) return {};
  return os::fail(os::Code::invalid, fmt::format("the file counts {} tests but lists only {}",
                                                 suite.tests, suite.listed));
}

os::Result<void> check_bad_listed(std::int64_t counted, const std::vector<TestCase>& cases) {
  const bool has_bad = std::ranges::any_of(cases, [](const TestCase& test) {
    return test.status == CaseStatus::failed || test.status == CaseStatus::error;
  });
  if (counted <= 0 || has_bad) return {};
  return os::fail(os::Code::invalid,
                  fmt::format("the file counts {} failures but lists none", counted));
}

std::string junit_message(const JunitOutcome& outcome, std::string_view output) {
  std::string text = clean_text(outcome.message, kMaxMessage);
  // Most tools repeat the message at the beginning of the text.
  if (!outcome.text.empty() && text.size() < kMaxMessage) {
    const std::string more = clean_text(outcome.text, kMaxMessage);
    if (more.starts_with(text))
      text = more;
    else
      text += (text.empty() ? "" : "\n") + more;
  }
  while (text.ends_with('\n')) text.pop_back();
  // The end of the output is where a failure stands.
  if (!output.empty() && text.size() + 200 < kMaxMessage) {
    if (!text.empty()) text += '\n';
    text += clean_text(output, kMaxMessage - text.size(), Keep::tail);
    while (text.ends_with('\n')) text.pop_back();
  }
  return clean_text(text, kMaxMessage);
}

void CaseMerger::add(TestCase test) {
  const auto [place, is_new] = places_.emplace(test.id, cases_.size());
  if (is_new) {
    cases_.push_back(std::move(test));
    return;
  }
  TestCase& known = cases_[place->second];
  known.milliseconds += test.milliseconds;
  if (severity(test.status) > severity(known.status)) {
    test.milliseconds = known.milliseconds;
    std::swap(known, test);
  }
  if (!test.message.empty() && test.message != known.message)
    known.message =
        clean_text(known.message + (known.message.empty() ? "" : "\n") + test.message, kMaxMessage);
}

}  // namespace tasks::reports
