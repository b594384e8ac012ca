// Comparison: what `reader compare` says of two runs' outputs. Made in a strict jail from hostile
// bytes; the attempt and the gates see only this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/tolerance.h"

namespace tasks {

// The first place where two outputs differ.
struct Divergence {
  std::string file;          // within the output; empty where the output is a file
  std::int64_t offset = -1;  // bytes from the file's beginning; -1: the whole file
  std::string tensor;        // of an array file; empty: none, or a .npy
  std::string index;         // "[3, 7]" of the element; empty: not within an array
  std::string left, right;   // both values, as text
  std::string what;          // "differs", "is only in the first" …
  bool operator==(const Divergence&) const = default;
};

// How far one array is from its reference. Figures are decimal text.
struct ArrayDistance {
  std::string tensor;  // empty in .npy
  std::string type, shape;
  std::int64_t elements = 0;
  std::int64_t outside = 0;  // elements that are not near, NaN among them
  std::int64_t nan = 0;      // elements that are NaN on either side
  std::string max_difference;
  std::string max_relative;  // to the largest element of the reference
  std::string frobenius;
  std::int64_t max_ulp = 0;
  std::string why;  // not empty: too far, and why
  bool operator==(const ArrayDistance&) const = default;
};

inline constexpr std::size_t kMaxDistances = 100;

struct Comparison {
  bool is_same = false;               // identical, or near enough
  std::optional<Divergence> first;    // where they differ first, or are first too far apart
  std::vector<ArrayDistance> arrays;  // of a parity: the worst first, at most kMaxDistances
  std::string error;                  // the left (the change's) cannot be compared, and why
  std::string reference_error;        // the reference cannot be, or proves nothing
  bool operator==(const Comparison&) const = default;
};

// Canonical JSON {schema:1, …}.
std::string comparison_to_json(const Comparison& comparison);
os::Result<Comparison> comparison_from_json(std::string_view json);
std::string parity_output_to_json(const ParityOutput& output);
os::Result<ParityOutput> parity_output_from_json(std::string_view json);

}  // namespace tasks
