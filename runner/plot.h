// Plots of ratios as SVG: the one place that draws them, for the API's pictures and for the pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runner {

// Elements of SVG that a plot of ours made: all text of others in it is escaped, and it holds no
// script, style or link. Each element has a class for a style sheet, and colours of its own where
// there is none.
class Svg {
 public:
  const std::string& text() const { return text_; }

 private:
  friend class RatioPlot;
  explicit Svg(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// Ratios on a logarithmic axis, from left to right in the order of what they were measured on.
// Coordinates are those of a box kWidth by kHeight. What lies outside of the axis is drawn at its
// edge, points as triangles.
class RatioPlot {
 public:
  static constexpr double kWidth = 640;
  static constexpr double kHeight = 170;

  // Shows ratios from `low` to `high` at least.
  RatioPlot(double low, double high);

  // The words of the whole, for who does not see it.
  void title(std::string_view words);
  // An area across the whole, between two ratios.
  void band(double low, double high);
  enum class Rule : std::uint8_t { axis, limit, estimate };
  // A line across the whole.
  void rule(double ratio, Rule kind);
  // The ratio as a percentage beside the axis.
  void mark(double ratio);
  // The nth of `count` columns; the words tell of the point.
  void point(std::size_t index, std::size_t count, double ratio, std::string_view words);
  // A bar in the nth of `count` columns.
  void interval(std::size_t index, std::size_t count, double low, double high);
  // The same at the right edge.
  void interval_at_edge(double low, double high);
  // A line from column to column.
  void path(const std::vector<double>& ratios);
  // Below the axis.
  void captions(std::string_view left, std::string_view right);

  // The picture as one element, <svg class="plot">.
  Svg take();
  // True for a label that would not cover that of 1.
  bool is_apart_from_one(double ratio) const;

 private:
  double y(double ratio) const;
  void vertical(double x, double low, double high);

  double low_, high_;  // logarithms
  std::string title_, elements_;
};

}  // namespace runner
