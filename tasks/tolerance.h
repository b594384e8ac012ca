// How near the arrays of an output must be to those of a reference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tasks {

// Numbers are decimal text from 0 on, so that records hold no floating point. What is given must
// all hold. NaN is never near anything.
struct Tolerance {
  // Element by element: |a - r| <= atol + rtol * |r|, or at most `ulp` representable numbers apart.
  std::string rtol;
  std::string atol;
  std::optional<std::int64_t> ulp;
  // The whole array: ||a - r|| / ||r|| (Frobenius), and max |a - r| / max |r|: a norm alone would
  // let one wrong row hide among many right ones.
  std::string frobenius;
  std::string max_element;
  bool operator==(const Tolerance&) const = default;
};

// One file of arrays (.npy or safetensors) among a step's outputs, and what it is compared with.
struct ParityOutput {
  std::string path;       // "out/y.npy": a file within the output `out`; "y": an output by itself
  std::string reference;  // "base": the same of the base; else "step.output[/file]" of a judge
  // Without any number: those that PyTorch's assert_close takes for each type.
  Tolerance tolerance;
  std::map<std::string, Tolerance> types;  // in place of it, by the element's type: "float16"
  bool operator==(const ParityOutput&) const = default;
};

}  // namespace tasks
