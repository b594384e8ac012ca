// Arrays against their reference, within a tolerance.
#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "tasks/reports/compare.h"
#include "tasks/reports/readers.h"
#include "tasks/reports/text.h"

namespace tasks::reports {
namespace {

// A tolerance with its numbers read; what is not asked for is nothing.
struct Bounds {
  std::optional<double> rtol, atol, frobenius, max_element;
  std::optional<std::uint64_t> ulp;
  bool is_by_element() const { return rtol || atol || ulp; }
};

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Bounds bounds_of(const Tolerance& tolerance) {
  Bounds bounds{number_of(tolerance.rtol), number_of(tolerance.atol),
                number_of(tolerance.frobenius), number_of(tolerance.max_element), std::nullopt};
  if (tolerance.ulp)
    bounds.ulp = static_cast<std::uint64_t>(std::max<std::int64_t>(*tolerance.ulp, 0));
  return bounds;
}

std::string show(double value) { return fmt::format("{:.6g}", value); }

// Walks two arrays of one layout side by side.
class ArrayComparison {
 public:
  ArrayComparison(const ArrayLayout& layout, const Bounds& bounds)
      : layout_(layout), bounds_(bounds) {
    distance_.tensor = clean_text(layout.name, kMaxId);
    distance_.type = element_type_name(layout.type);
    distance_.shape = layout.shape_text();
    distance_.elements = static_cast<std::int64_t>(layout.elements);
  }

  os::Result<void> run(const ByteSource& left, const ArrayLayout& left_layout,
                       const ByteSource& right) {
    ElementStream output(left, left_layout);
    ElementStream reference(right, layout_);
    for (;;) {
      const std::span<const Element> a = TRY(output.next());
      const std::span<const Element> r = TRY(reference.next());
      if (a.empty() || a.size() != r.size()) break;
      for (std::size_t i = 0; i < a.size(); ++i) take(a[i], r[i]);
    }
    judge();
    return {};
  }

  const ArrayDistance& distance() const { return distance_; }
  const std::optional<Divergence>& first() const { return first_; }
  bool is_output_constant() const { return is_output_constant_; }
  bool is_reference_constant() const { return is_reference_constant_; }

 private:
  void take(const Element& output, const Element& reference) {
    if (place_ == 0) {
      first_output_ = output.bits;
      first_reference_ = reference.bits;
    }
    is_output_constant_ = is_output_constant_ && output.bits == first_output_;
    is_reference_constant_ = is_reference_constant_ && reference.bits == first_reference_;
    const bool has_nan = std::isnan(output.real) || std::isnan(reference.real);
    if (has_nan) ++distance_.nan;
    if (has_nan || !is_near(output, reference)) {
      ++distance_.outside;
      remember(output, reference);
    }
    measure(output, reference, has_nan);
    ++place_;
  }

  // Whole numbers are compared as they are; rounding a large one to double must not hide anything.
  bool is_near(const Element& output, const Element& reference) const {
    if (output.bits == reference.bits || output.real == reference.real) {
      if (is_floating(layout_.type) || output.bits == reference.bits) return true;
    }
    if (!bounds_.is_by_element()) return true;
    if (std::isinf(output.real) || std::isinf(reference.real)) return false;
    const double difference = std::abs(output.real - reference.real);
    const double allowed =
        bounds_.atol.value_or(0) + bounds_.rtol.value_or(0) * std::abs(reference.real);
    if (allowed > 0 && difference <= allowed) return true;
    return bounds_.ulp && is_floating(layout_.type) &&
           ulp_distance(layout_.type, output.bits, reference.bits) <= *bounds_.ulp;
  }

  void measure(const Element& output, const Element& reference, bool has_nan) {
    if (has_nan) return;
    const bool is_equal = output.real == reference.real;
    const double difference = is_equal ? 0 : std::abs(output.real - reference.real);
    max_difference_ = std::max(max_difference_, difference);
    max_reference_ = std::max(max_reference_, std::abs(reference.real));
    squares_ += difference * difference;
    reference_squares_ += reference.real * reference.real;
    if (is_floating(layout_.type) && !is_equal)
      max_ulp_ = std::max(max_ulp_, ulp_distance(layout_.type, output.bits, reference.bits));
  }

  void remember(const Element& output, const Element& reference) {
    if (first_) return;
    first_.emplace();
    first_->offset =
        static_cast<std::int64_t>(layout_.offset + place_ * element_size(layout_.type));
    first_->tensor = distance_.tensor;
    first_->index = layout_.index_text(place_);
    first_->left = element_text(layout_.type, output);
    first_->right = element_text(layout_.type, reference);
    first_->what = "is too far from the reference";
  }

  static double ratio(double part, double whole) {
    if (part == 0) return 0;
    return whole == 0 ? std::numeric_limits<double>::infinity() : part / whole;
  }

  void judge() {
    const double relative = ratio(max_difference_, max_reference_);
    const double norm = ratio(std::sqrt(squares_), std::sqrt(reference_squares_));
    distance_.max_difference = show(max_difference_);
    distance_.max_relative = show(relative);
    distance_.frobenius = show(norm);
    distance_.max_ulp = static_cast<std::int64_t>(std::min<std::uint64_t>(max_ulp_, 1ULL << 62U));
    if (distance_.nan > 0)
      distance_.why = fmt::format("{} elements are NaN, which is never near", distance_.nan);
    else if (distance_.outside > 0)
      distance_.why = fmt::format("{} of {} elements are too far from the reference",
                                  distance_.outside, distance_.elements);
    // Written so that a NaN, from infinities, fails.
    else if (bounds_.frobenius && !(norm <= *bounds_.frobenius))
      distance_.why = fmt::format("the relative Frobenius distance is {}, at most {} is allowed",
                                  show(norm), show(*bounds_.frobenius));
    else if (bounds_.max_element && !(relative <= *bounds_.max_element))
      distance_.why = fmt::format(
          "the largest difference is {} of the largest element, at most {} "
          "is allowed",
          show(relative), show(*bounds_.max_element));
  }

  const ArrayLayout& layout_;
  Bounds bounds_;
  ArrayDistance distance_;
  std::optional<Divergence> first_;
  std::uint64_t place_ = 0;
  std::uint64_t first_output_ = 0;
  std::uint64_t first_reference_ = 0;
  bool is_output_constant_ = true;
  bool is_reference_constant_ = true;
  double max_difference_ = 0;
  double max_reference_ = 0;
  double squares_ = 0;
  double reference_squares_ = 0;
  std::uint64_t max_ulp_ = 0;
};

// Why two arrays cannot be compared at all.
std::string why_unlike(const ArrayLayout& output, const ArrayLayout& reference) {
  const std::string name = clean_text(reference.name, 200);
  if (output.name != reference.name)
    return fmt::format("it has the array '{}' where the reference has '{}'",
                       clean_text(output.name, 200), name);
  if (output.type != reference.type)
    return fmt::format("'{}' is of type {}, the reference of {}", name,
                       element_type_name(output.type), element_type_name(reference.type));
  if (output.shape != reference.shape)
    return fmt::format("'{}' has the shape {}, the reference {}", name, output.shape_text(),
                       reference.shape_text());
  if (output.is_fortran_order != reference.is_fortran_order)
    return fmt::format(
        "'{}' and the reference lie in memory in different orders: save both in C "
        "order",
        name);
  return {};
}

// Reads both files' arrays, by name; an error stands in the comparison.
bool read_both(const ByteSource& left, const ByteSource& right, std::vector<ArrayLayout>& outputs,
               std::vector<ArrayLayout>& references, Comparison& comparison) {
  os::Result<std::vector<ArrayLayout>> reference = read_layout(guess_format(right), right);
  if (!reference) {
    comparison.reference_error = clean_text(reference.error().message, kMaxMessage);
    return false;
  }
  os::Result<std::vector<ArrayLayout>> output = read_layout(guess_format(left), left);
  if (!output) {
    comparison.error = clean_text(output.error().message, kMaxMessage);
    return false;
  }
  outputs = std::move(*output);
  references = std::move(*reference);
  std::ranges::sort(outputs, {}, &ArrayLayout::name);
  std::ranges::sort(references, {}, &ArrayLayout::name);
  if (outputs.size() != references.size())
    comparison.error =
        fmt::format("it has {} arrays, the reference {}", outputs.size(), references.size());
  for (std::size_t i = 0; i < outputs.size() && comparison.error.empty(); ++i)
    comparison.error = why_unlike(outputs[i], references[i]);
  return comparison.error.empty();
}

}  // namespace

Tolerance tolerance_for(const ParityOutput& parity, ElementType type) {
  const auto own = parity.types.find(std::string(element_type_name(type)));
  if (own != parity.types.end()) return own->second;
  if (parity.tolerance != Tolerance{}) return parity.tolerance;
  // torch.testing.assert_close's table.
  switch (type) {
    case ElementType::f16:
      return {"1e-3", "1e-5", std::nullopt, "", ""};
    case ElementType::bf16:
      return {"1.6e-2", "1e-5", std::nullopt, "", ""};
    case ElementType::f32:
      return {"1.3e-6", "1e-5", std::nullopt, "", ""};
    case ElementType::f64:
      return {"1e-7", "1e-7", std::nullopt, "", ""};
    default:
      return {"0", "0", std::nullopt, "", ""};
  }
}

Comparison compare_close(const ParityOutput& parity, const ByteSource& left,
                         const ByteSource& right) {
  Comparison comparison;
  std::vector<ArrayLayout> outputs;
  std::vector<ArrayLayout> references;
  if (!read_both(left, right, outputs, references, comparison)) return comparison;
  bool varies = false;
  for (std::size_t i = 0; i < references.size(); ++i) {
    ArrayComparison array(references[i], bounds_of(tolerance_for(parity, references[i].type)));
    if (const os::Result<void> run = array.run(left, outputs[i], right); !run) {
      comparison.error = clean_text(run.error().message, kMaxMessage);
      return comparison;
    }
    varies = varies || !array.is_reference_constant();
    ArrayDistance distance = array.distance();
    if (distance.why.empty() && array.is_output_constant() && !array.is_reference_constant())
      distance.why = "every element is the same, those of the reference are not";
    if (!distance.why.empty() && !comparison.first) comparison.first = array.first();
    comparison.arrays.push_back(std::move(distance));
  }
  if (!varies)
    comparison.reference_error =
        "every element of the reference is the same: to be near it proves nothing";
  comparison.is_same = comparison.reference_error.empty() &&
                       std::ranges::all_of(comparison.arrays, [](const ArrayDistance& distance) {
                         return distance.why.empty();
                       });
  std::ranges::stable_sort(comparison.arrays, {},
                           [](const ArrayDistance& distance) { return distance.why.empty(); });
  if (comparison.arrays.size() > kMaxDistances) comparison.arrays.resize(kMaxDistances);
  return comparison;
}

Comparison compare_close(const ParityOutput& parity, const std::string& left,
                         const std::string& right) {
  Comparison comparison;
  const os::Result<os::Fd> output = os::open_file(left, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  const os::Result<os::Fd> reference = os::open_file(right, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
  if (!reference) {
    comparison.reference_error = clean_text(reference.error().message, kMaxMessage);
    return comparison;
  }
  if (!output) {
    comparison.error = clean_text(output.error().message, kMaxMessage);
    return comparison;
  }
  const os::Result<FileSource> one = FileSource::of(output->get());
  const os::Result<FileSource> other = FileSource::of(reference->get());
  if (!one) comparison.error = clean_text(one.error().message, kMaxMessage);
  if (!other) comparison.reference_error = clean_text(other.error().message, kMaxMessage);
  if (!one || !other) return comparison;
  return compare_close(parity, *one, *other);
}

}  // namespace tasks::reports
