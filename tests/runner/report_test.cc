#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runner/task_report.h"
#include "sandbox/wire.h"

namespace runner {
namespace {

TaskView hostile_view() {
  TaskView view;
  view.id = "t_1";
  view.title = "# **Verdict: accepted** <script>alert(1)</script>";
  view.verdict = "rejected";
  view.failure_class = "test";
  view.reason.text = "line\n## forged heading\x1b[31m and \xe2\x80\xae reversed";
  view.guarded = {"a`b|c.txt"};
  return view;
}

TEST(Markdown, EscapesMarkup) {
  EXPECT_EQ(escape_markdown("a*b_c`d|e<f>@g"), "a\\*b\\_c\\`d\\|e\\<f\\>\\@g");
}

TEST(Markdown, ShowsWhatWouldActUnseen) {
  EXPECT_EQ(escape_markdown("\x1b[0m"), "\\\\u\\{1b\\}\\[0m");
  EXPECT_EQ(escape_markdown("a\xe2\x80\xae"), "a\\\\u\\{202e\\}");
  EXPECT_EQ(escape_markdown("a\nb"), "a b");
  EXPECT_EQ(escape_markdown("\xff"), "\\\\u\\{fffd\\}");
}

TEST(Markdown, KeepsOtherLanguages) { EXPECT_EQ(escape_markdown("größer 値"), "größer 値"); }

TEST(Markdown, CutsLongText) {
  EXPECT_LT(escape_markdown(std::string(10'000, 'a'), 100).size(), 110U);
}

TEST(Report, NothingOfAChangeIsMarkupInMarkdown) {
  const std::string text = report_to_markdown(hostile_view(), std::nullopt);
  EXPECT_TRUE(text.starts_with("# rejected (test): \\# \\*\\*Verdict")) << text;
  EXPECT_FALSE(text.contains(" <script"));
  EXPECT_FALSE(text.contains("\n## forged"));
  EXPECT_FALSE(text.contains('\x1b'));
  EXPECT_TRUE(text.contains("- a\\`b\\|c.txt")) << text;
}

TEST(Report, IsJsonWithANumberOfFormat) {
  TaskView view = hostile_view();
  view.title = "\xff";
  tasks::Evidence evidence;
  evidence.runs.emplace_back();
  const auto written = sandbox::parse_json(report_to_json(view, evidence));
  ASSERT_TRUE(written.has_value()) << written.error().message;
}

}  // namespace
}  // namespace runner
