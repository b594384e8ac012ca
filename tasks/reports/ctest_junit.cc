#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

constexpr int kMaxXmlDepth = 64;
// Elements and attributes: pugixml needs 64 and 40 bytes for one, the reader has 256 MiB.
constexpr std::size_t kMaxNodes = 2'000'000;

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
    const std::size_t length = utf8_length(bytes);
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

// GoogleTest's words for a failed case, in output that also matched a skip expression: a case that
// failed and then skipped looks skipped to CTest.
bool says_failed(std::string_view output) {
  return output.starts_with("[  FAILED  ] ") || output.contains("\n[  FAILED  ] ");
}

// Skips that somebody asked for; every other "notrun" is a case that could not run.
bool is_wanted_skip(std::string_view message) {
  return message.starts_with("SKIP_RETURN_CODE=") || message == "SKIP_REGULAR_EXPRESSION_MATCHED";
}

TestCase read_case(const pugi::xml_node& node) {
  TestCase test;
  const std::string_view status = node.attribute("status").value();
  const std::string_view output = node.child("system-out").text().get();
  const pugi::xml_node skipped = node.child("skipped");
  std::string_view message = skipped.attribute("message").value();
  test.id = clean_text(node.attribute("name").value(), kMaxId + 16);
  test.milliseconds = milliseconds_of(node.attribute("time").value());
  bool shows_output = true;
  if (node.child("failure") || node.child("error") || status == "fail") {
    test.status = CaseStatus::failed;
    message = node.child("failure").attribute("message").value();
  } else if (status == "run" && !skipped) {
    test.status = CaseStatus::passed;
    shows_output = false;
  } else if (status == "disabled") {
    test.status = CaseStatus::disabled;
    shows_output = false;
  } else if (status == "notrun" && is_wanted_skip(message)) {
    test.status = says_failed(output) ? CaseStatus::failed : CaseStatus::skipped;
  } else {
    test.status = CaseStatus::error;
    if (message.empty()) message = "it did not run, and nothing says why";
  }
  if (!shows_output) return test;
  // The end of the output is where a failure stands.
  std::string text(message);
  if (!text.empty() && !output.empty()) text += '\n';
  const std::size_t room = kMaxMessage - std::min(text.size(), kMaxMessage / 2);
  text += clean_text(output, room, Keep::tail);
  while (text.ends_with('\n')) text.pop_back();
  test.message = clean_text(text, kMaxMessage);
  return test;
}

os::Result<pugi::xml_node> find_suite(const pugi::xml_document& document) {
  pugi::xml_node suite;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() == pugi::node_doctype)
      return os::fail(os::Code::invalid, "a document type is not allowed");
    if (node.type() != pugi::node_element) continue;
    if (suite) return os::fail(os::Code::invalid, "more than one root element");
    suite = node;
  }
  if (std::string_view(suite.name()) != "testsuite")
    return os::fail(os::Code::invalid, "the root element is not <testsuite>: not CTest's JUnit");
  return suite;
}

}  // namespace

os::Result<TestReport> read_ctest_junit(std::string_view bytes) {
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
  const pugi::xml_node suite = TRY(find_suite(document));
  TestReport report;
  for (const pugi::xml_node& node : suite.children()) {
    if (std::string_view(node.name()) != "testcase") continue;
    if (!node.attribute("name") || !node.attribute("status"))
      return os::fail(os::Code::invalid, "a <testcase> without name or status");
    if (report.cases.size() == kMaxCases)
      return os::fail(os::Code::invalid, "over 100,000 test cases");
    report.cases.push_back(read_case(node));
  }
  const auto listed = static_cast<long long>(report.cases.size());
  if (const long long counted = suite.attribute("tests").as_llong(); counted > listed)
    return os::fail(os::Code::invalid,
                    fmt::format("the file counts {} tests but lists only {}", counted, listed));
  return report;
}

}  // namespace tasks::reports
