// Comparisons of outputs, bit for bit and within tolerances.

#include "tasks/reports/compare.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sandbox/os/files.h"
#include "tests/support/capability.h"
#include "tests/support/expect.h"

namespace tasks {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A .npy of single-precision numbers with three columns.
std::string npy(const std::vector<float>& values, const std::string& descr = "<f4") {
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                             std::to_string(values.size() / 3) + ", 3), }\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  text += header;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8)
      text += static_cast<char>((bits >> shift) & 0xFFU);
  }
  return text;
}

Comparison close(const std::string& left, const std::string& right, Tolerance tolerance) {
  const reports::MemorySource one(left);
  const reports::MemorySource other(right);
  return reports::compare_close({"out/y.npy", "base", std::move(tolerance), {}}, one, other);
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i + 1);
  return values;
}

Tolerance relative(const std::string& rtol) { return {rtol, "", std::nullopt, "", ""}; }

TEST(CompareClose, TakesWhatIsWithinTheTolerance) {
  std::vector<float> near = numbers(12);
  for (float& value : near) value *= 1.0005F;
  const std::string reference = npy(numbers(12));
  EXPECT_TRUE(close(npy(near), reference, relative("1e-3")).is_same);
  EXPECT_FALSE(close(npy(near), reference, relative("1e-4")).is_same);
  EXPECT_TRUE(close(npy(near), reference, {"", "0.01", std::nullopt, "", ""}).is_same);
}

TEST(CompareClose, NamesTheFirstElementThatIsTooFar) {
  std::vector<float> wrong = numbers(12);
  wrong[7] = 0;
  const Comparison comparison = close(npy(wrong), npy(numbers(12)), relative("1e-3"));
  EXPECT_FALSE(comparison.is_same);
  ASSERT_TRUE(comparison.first.has_value());
  EXPECT_EQ(comparison.first->index, "[2, 1]");
  EXPECT_EQ(comparison.first->left, "0");
  EXPECT_EQ(comparison.first->right, "8");
  EXPECT_EQ(comparison.arrays.at(0).outside, 1);
}

TEST(CompareClose, SeesOneWrongRowThatANormHides) {
  std::vector<float> wrong = numbers(30'000);
  for (std::size_t i = 60; i < 63; ++i) wrong[i] += 300;
  const std::string reference = npy(numbers(30'000));
  EXPECT_TRUE(close(npy(wrong), reference, {"", "", std::nullopt, "1e-3", "1"}).is_same);
  const Comparison caught = close(npy(wrong), reference, {"", "", std::nullopt, "1e-3", "1e-3"});
  EXPECT_FALSE(caught.is_same);
  EXPECT_SAYS(caught.arrays.at(0).why, "of the largest element");
}

TEST(CompareClose, NeverTakesNaN) {
  std::vector<float> nan = numbers(6);
  nan[4] = kNan;
  const Tolerance all{"1e6", "1e6", 1'000'000, "", ""};
  EXPECT_FALSE(close(npy(nan), npy(numbers(6)), all).is_same);
  EXPECT_FALSE(close(npy(numbers(6)), npy(nan), all).is_same);
  const Comparison both = close(npy(nan), npy(nan), all);
  EXPECT_FALSE(both.is_same);
  EXPECT_SAYS(both.arrays.at(0).why, "NaN, which is never near");
  EXPECT_EQ(both.first.value().index, "[1, 1]");
}

TEST(CompareClose, TakesInfinityForInfinityOnly) {
  std::vector<float> infinite = numbers(6);
  infinite[0] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(close(npy(infinite), npy(infinite), relative("1e-3")).is_same);
  EXPECT_FALSE(close(npy(infinite), npy(numbers(6)), relative("1e-3")).is_same);
}

TEST(CompareClose, CountsRepresentableNumbers) {
  std::vector<float> next = numbers(6);
  next[3] = std::nextafterf(std::nextafterf(next[3], 100), 100);
  const std::string reference = npy(numbers(6));
  EXPECT_TRUE(close(npy(next), reference, {"", "", 2, "", ""}).is_same);
  const Comparison far = close(npy(next), reference, {"", "", 1, "", ""});
  EXPECT_FALSE(far.is_same);
  EXPECT_EQ(far.arrays.at(0).max_ulp, 2);
  using reports::ElementType;
  EXPECT_EQ(reports::ulp_distance(ElementType::f32, 0x80000001, 0x00000001), 2U);
  EXPECT_EQ(reports::ulp_distance(ElementType::f64, 0x8000000000000000, 0), 0U);
}

TEST(CompareClose, RefusesConstantsWhichProveNothing) {
  const std::vector<float> zeros(6, 0.0F);
  const Comparison constant =
      close(npy(zeros), npy(numbers(6)), {"1", "1e6", std::nullopt, "", ""});
  EXPECT_FALSE(constant.is_same);
  EXPECT_SAYS(constant.arrays.at(0).why, "every element is the same");
  EXPECT_SAYS(close(npy(zeros), npy(zeros), relative("1")).reference_error, "proves nothing");
}

TEST(CompareClose, RefusesAnotherTypeOrShape) {
  EXPECT_SAYS(close(npy(numbers(6), "<i4"), npy(numbers(6)), relative("1")).error, "type int32");
  EXPECT_SAYS(close(npy(numbers(6)), npy(numbers(9)), relative("1")).error, "shape [2, 3]");
  EXPECT_SAYS(close("x", npy(numbers(6)), relative("1")).error, "too short");
  EXPECT_SAYS(close(npy(numbers(6)), "x", relative("1")).reference_error, "too short");
}

TEST(CompareClose, ComparesWholeNumbersExactly) {
  std::vector<float> other = numbers(6);
  other[5] = std::nextafterf(6, 7);
  EXPECT_TRUE(close(npy(numbers(6), "<i4"), npy(numbers(6), "<i4"), {}).is_same);
  EXPECT_FALSE(close(npy(other, "<i4"), npy(numbers(6), "<i4"), {}).is_same);
}

TEST(CompareClose, KnowsATolerancePerType) {
  using reports::ElementType;
  const ParityOutput parity{"y", "base", relative("1e-3"), {{"float16", relative("1e-2")}}};
  EXPECT_EQ(reports::tolerance_for(parity, ElementType::f16).rtol, "1e-2");
  EXPECT_EQ(reports::tolerance_for(parity, ElementType::f32).rtol, "1e-3");
  EXPECT_EQ(reports::tolerance_for({"y", "base", {}, {}}, ElementType::f32).rtol, "1.3e-6");
  EXPECT_EQ(reports::tolerance_for({"y", "base", {}, {}}, ElementType::i64).atol, "0");
}

std::optional<Divergence> difference(const std::string& left, const std::string& right) {
  const reports::MemorySource one(left);
  const reports::MemorySource other(right);
  return reports::first_difference(one, other).value();
}

TEST(CompareIdentical, NamesTheElementOfAnArray) {
  std::vector<float> other = numbers(6);
  other[4] = 9;
  const std::optional<Divergence> first = difference(npy(numbers(6)), npy(other));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->index, "[1, 1]");
  EXPECT_EQ(first->left, "5");
  EXPECT_EQ(first->right, "9");
  EXPECT_FALSE(difference(npy(other), npy(other)).has_value());
}

TEST(CompareIdentical, ShowsWordsOfTextAndBytesOfTheRest) {
  const std::optional<Divergence> text = difference("time: 1.25 s\n", "time: 1.75 s\n");
  EXPECT_EQ(text.value().offset, 8);
  EXPECT_EQ(text->left, "1.25");
  EXPECT_EQ(text->right, "1.75");
  const std::optional<Divergence> bytes =
      difference(std::string("\0\1\2", 3), std::string("\0\1\3", 3));
  EXPECT_EQ(bytes.value().left, "bytes 02");
  EXPECT_EQ(difference("ab", "abc").value().left, "the end of the file");
}

TEST(CompareIdentical, WalksDirectoriesInTheOrderOfTheirNames) {
  REQUIRE_CAPABILITY(openat2);
  const os::TempDir work = os::TempDir::create("compare").value();
  namespace fs = std::filesystem;
  for (const char* const side : {"left", "right"}) {
    const fs::path folder = fs::path(work.path()) / side / "deep";
    fs::create_directories(folder);
    std::ofstream(folder / "a") << "same";
    std::ofstream(folder.parent_path() / "z") << side;
  }
  const std::string left = work.path() + "/left";
  const std::string right = work.path() + "/right";
  EXPECT_EQ(reports::compare_identical(left, right).first.value().file, "z");
  std::ofstream(left + "/extra") << "x";
  EXPECT_EQ(reports::compare_identical(left, right).first.value().what, "is only in the first");
  EXPECT_TRUE(reports::compare_identical(left, left).is_same);
  fs::create_symlink("/etc/passwd", left + "/deep/link");
  EXPECT_FALSE(reports::compare_identical(left, left).is_same);
  EXPECT_SAYS(reports::compare_identical(left, "/nonexistent").error, "nonexistent");
}

TEST(Comparison, ComesBackFromItsJson) {
  std::vector<float> wrong = numbers(6);
  wrong[0] = kNan;
  const Comparison comparison = close(npy(wrong), npy(numbers(6)), relative("1e-3"));
  const os::Result<Comparison> again = comparison_from_json(comparison_to_json(comparison));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, comparison);
}

}  // namespace
}  // namespace tasks
