// Parts of the pages by themselves: escaping, forms, lines of a diff.
#include <string>

#include <gtest/gtest.h>

#include "runner/web/diff_lines.h"
#include "runner/web/form.h"
#include "runner/web/gpu_table.h"
#include "runner/web/html.h"
#include "runner/web/interdiff.h"

namespace runner::web {
namespace {

std::string text_of(const std::string& text) {
  Html out;
  out << text;
  return out.take();
}

std::string code_of(const std::string& text) {
  Html out;
  return out.code(text).take();
}

TEST(Html, TextIsNeverMarkupAndNothingActsUnseen) {
  EXPECT_EQ(text_of("<a href=\"x\">'&"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;");
  EXPECT_EQ(text_of("grüße 世界 🎉"), "grüße 世界 🎉");
  EXPECT_EQ(text_of("a\nb\tc\r\x1b\x7f"), "a\\nb\\tc\\r\\x1b\\x7f");
  EXPECT_EQ(text_of("\u202e\u2066\u200b\ufeff\u2028"),
            "\\u{202e}\\u{2066}\\u{200b}\\u{feff}\\u{2028}");
  EXPECT_EQ(text_of("\U000e0041"), "\\u{e0041}");
  EXPECT_EQ(text_of(std::string("\0", 1)), "\\x00");
  // No UTF-8: overlong, surrogate, cut off, beyond the end.
  EXPECT_EQ(text_of("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(text_of("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(text_of("\xe2\x80"), "\\xe2\\x80");
  EXPECT_EQ(text_of("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(text_of("\xc2\x9b"), "\\x9b");
}

TEST(Html, CodeKeepsItsLayoutAndMarksEscapes) {
  EXPECT_EQ(code_of("a\n\tb<\x1b"), "a\n\tb&lt;<b class=\"x\">\\x1b</b>");
  // A byte that ingest found to be no UTF-8.
  EXPECT_EQ(code_of(tasks::to_shown_utf8("x\xff\x80")),
            "x<b class=\"x\">\\xff</b><b class=\"x\">\\x80</b>");
}

TEST(Html, ComponentsOfUrlsAreEncoded) {
  Html out;
  EXPECT_EQ(out.url("a/b?c=\"<\xff").take(), "a%2Fb%3Fc%3D%22%3C%FF");
}

TEST(Form, ReadsFieldsAsABrowserSendsThem) {
  const Form form = Form::parse("a=1&b=x+y%26&gate=p&gate=q&empty=&%zz=%4");
  EXPECT_EQ(form.get("a"), "1");
  EXPECT_EQ(form.get("b"), "x y&");
  EXPECT_EQ(form.all("gate"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(form.get("empty"), "");
  EXPECT_EQ(form.get("%zz"), "%4");
}

TEST(Form, TakesACookieThatStandsOnce) {
  EXPECT_EQ(find_cookie("a=1; proofhouse=x; b=2", "proofhouse"), "x");
  EXPECT_EQ(find_cookie("proofhouse=x; proofhouse=y", "proofhouse"), "");
  EXPECT_EQ(find_cookie("xproofhouse=x", "proofhouse"), "");
}

// A run of step `train` that had one GPU.
tasks::RunRecord gpu_run(tasks::Side side, std::int64_t busy_ms, std::int64_t power_mw,
                         std::vector<int> xids) {
  sandbox::gpu::GpuUse use{"GPU-1", "H100", {}, std::move(xids)};
  use.telemetry.held_ms = 1000;
  use.telemetry.busy_ms = busy_ms;
  use.telemetry.idle_ms = 1000 - busy_ms;
  use.telemetry.memory_peak = busy_ms << 20U;
  use.telemetry.power_mean_mw = power_mw;
  tasks::RunRecord run;
  run.key = {side, side, tasks::StepName("train"), std::nullopt};
  run.gpu = tasks::GpuRecord{"999", 0, {use}};
  return run;
}

TEST(GpuTable, AddsUpWhatAGpuDidForEachSideOfAStep) {
  using tasks::Side;
  tasks::Evidence evidence;
  evidence.runs = {gpu_run(Side::change, 900, 300'000, {13}), gpu_run(Side::base, 500, 1, {}),
                   gpu_run(Side::change, 300, 100'000, {31, 13}), tasks::RunRecord{}};
  const std::vector<GpuShare> shares = gpu_shares(evidence);
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].side, "change");
  EXPECT_EQ(shares[0].leases, 2);
  EXPECT_EQ(shares[0].telemetry.held_ms, 2000);
  EXPECT_EQ(shares[0].telemetry.busy_ms, 1200);
  EXPECT_EQ(shares[0].telemetry.memory_peak, 900 << 20);
  EXPECT_EQ(shares[0].telemetry.power_mean_mw, 200'000);
  EXPECT_EQ(shares[0].errors, "Xid 13 (2 times), Xid 31");
  const std::string table = gpu_shares_table(shares).take();
  EXPECT_TRUE(table.contains(">60 %</td>") && table.contains("200.0 W")) << table;
  EXPECT_EQ(gpu_shares_table({}).take(), "");
}

TEST(GpuTable, ShowsWhyAGpuIsNotLeasedAndWhatALeasedOneDoes) {
  sandbox::gpu::GpuStatus out_of_service;
  out_of_service.uuid = "GPU-1";
  out_of_service.state = sandbox::gpu::GpuState::quarantined;
  out_of_service.reason = "Xid 79: <lost>";
  sandbox::gpu::GpuStatus leased;
  leased.uuid = "GPU-2";
  leased.state = sandbox::gpu::GpuState::leased;
  leased.telemetry.emplace();
  leased.telemetry->held_ms = 1000;
  leased.telemetry->starved_ms = 250;
  const std::string table = gpu_list_table({out_of_service, leased}).take();
  EXPECT_TRUE(table.contains("quarantined<div class=\"dim\">Xid 79: &lt;lost&gt;")) << table;
  EXPECT_TRUE(table.contains(">25 %</td>")) << table;
}

TEST(DiffLines, NumbersLinesAndMarksWhatDiffersWithin) {
  const tasks::DiffHunk hunk{
      .old_start = 10,
      .new_start = 20,
      .heading = "",
      .lines = {" same", "-int total = 1;", "+int total = 2;", "+new", "\\", "~7"}};
  const auto lines = number_lines(hunk, false);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].old_number, 10);
  EXPECT_EQ(lines[0].new_number, 20);
  EXPECT_EQ(lines[1].old_number, 11);
  EXPECT_EQ(lines[1].new_number, 0);
  EXPECT_EQ(lines[3].new_number, 22);
  EXPECT_TRUE(lines[3].no_newline);
  EXPECT_EQ(lines[3].cut, 7);
  Html out;
  add_line_text(out, lines[2]);
  EXPECT_EQ(out.take(), "int total = <mark>2</mark>;");
  const auto pairs = pair_lines(lines);
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[1].before, &lines[1]);
  EXPECT_EQ(pairs[1].after, &lines[2]);
  EXPECT_EQ(pairs[2].before, nullptr);
}

TEST(DiffLines, MarksWholeCharacters) {
  const tasks::DiffHunk hunk{
      .old_start = 1, .new_start = 1, .heading = "", .lines = {"-long text é", "+long text è"}};
  const auto lines = number_lines(hunk, false);
  Html out;
  add_line_text(out, lines[0]);
  EXPECT_EQ(out.take(), "long text <mark>é</mark>");
}

TEST(DiffLines, FoldsWhatDiffersInWhiteSpaceAlone) {
  const tasks::DiffHunk hunk{.old_start = 1,
                             .new_start = 1,
                             .heading = "",
                             .lines = {"-a b", "-c", "+a  b", "+\tc", "-x", "+y"}};
  EXPECT_EQ(number_lines(hunk, false).size(), 6U);
  const auto lines = number_lines(hunk, true);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].kind, 's');
  EXPECT_EQ(lines[0].text, "a  b");
  EXPECT_EQ(lines[1].old_number, 2);
  EXPECT_EQ(lines[2].kind, '-');
}

TEST(Interdiff, ShowsWhatChangedBetweenPatches) {
  const auto view = [](const std::string& path, std::vector<std::string> lines) {
    tasks::FileView file;
    file.path = file.old_path = path;
    file.hunks.push_back(
        {.old_start = 1, .new_start = 1, .heading = "", .lines = std::move(lines)});
    return file;
  };
  const tasks::DiffView earlier{.files = {view("a", {" x", "+one", "+two"}), view("b", {"+b"})},
                                .cut = 0};
  const tasks::DiffView later{
      .files = {view("a", {" y", "+one", "+three"}), view("b", {"+b"}), view("c", {"-c"})},
      .cut = 0};
  const tasks::DiffView shown = compare_patches(earlier, later);
  ASSERT_EQ(shown.files.size(), 2U);
  EXPECT_EQ(shown.files[0].path, "a");
  EXPECT_EQ(shown.files[0].hunks[0].lines, (std::vector<std::string>{" +one", "-+two", "++three"}));
  EXPECT_EQ(shown.files[1].path, "c");
  EXPECT_EQ(shown.files[1].added, 1);
}

}  // namespace
}  // namespace runner::web
