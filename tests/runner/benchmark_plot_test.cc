#include "runner/benchmark_plot.h"

#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <pugixml.hpp>

namespace {

gates::BenchmarkSeries sample(const std::string& name) {
  gates::BenchmarkSeries series;
  series.name = name;
  for (int i = 0; i < 16; ++i) series.differences.push_back(0.1 + 0.001 * i);
  series.differences.push_back(3.0);
  series.result.trend = gates::Trend::regressed;
  series.result.pairs = 16;
  series.result.estimate = 1.11;
  series.result.low = 1.08;
  series.result.high = 1.14;
  series.result.spread = 0.01;
  series.result.detectable = 0.02;
  return series;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(BenchmarkPlot, IsXmlWithADotForEachPairAndATriangleForWhatLiesOutside) {
  const std::string svg = runner::benchmark_plot({sample("BM_Dot")}, tasks::Share{50'000});
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(svg.c_str())) << svg;
  EXPECT_EQ(count_of(svg, "<circle"), 16U);
  EXPECT_EQ(count_of(svg, "<path"), 1U);
  EXPECT_EQ(count_of(svg, "stroke-dasharray"), 1U);
  EXPECT_TRUE(svg.contains("BM_Dot: 1.110x (1.080 to 1.140), 16 pairs, slower"));
}

TEST(BenchmarkPlot, EscapesNames) {
  const std::string svg =
      runner::benchmark_plot({sample("</text><script>alert('1')</script>\n&")}, {50'000});
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(svg.c_str())) << svg;
  EXPECT_FALSE(svg.contains("<script"));
}

TEST(BenchmarkPlot, SaysWhatItLeavesOut) {
  const std::string svg = runner::benchmark_plot(
      std::vector<gates::BenchmarkSeries>(70, sample("BM_A")), tasks::Share{50'000});
  EXPECT_TRUE(svg.contains("10 more not shown"));
  EXPECT_TRUE(runner::benchmark_plot({}, {50'000}).contains("no pair was measured"));
}

TEST(BenchmarkTable, HasTheSameFigures) {
  const std::string table = runner::benchmark_table({sample("BM_Dot|x")});
  EXPECT_TRUE(table.contains("| BM\\_Dot\\|x | 1.110x | 1.080–1.140 | 16 | 1.0% | 2.0% | slower |"))
      << table;
}

}  // namespace
