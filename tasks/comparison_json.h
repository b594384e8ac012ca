// Members of comparisons and tolerances, for records that hold them.
#pragma once

#include "tasks/comparison.h"
#include "tasks/json_archive.h"

namespace tasks::archive {

template <>
struct Fields<Tolerance> {
  static void visit(auto& archive, auto& tolerance) {
    archive("rtol", tolerance.rtol);
    archive("atol", tolerance.atol);
    archive("ulp", tolerance.ulp);
    archive("frobenius", tolerance.frobenius);
    archive("max_element", tolerance.max_element);
  }
};

template <>
struct Fields<ParityOutput> {
  static void visit(auto& archive, auto& output) {
    archive("path", output.path);
    archive("reference", output.reference);
    archive("tolerance", output.tolerance);
    archive("types", output.types);
  }
};

template <>
struct Fields<Divergence> {
  static void visit(auto& archive, auto& first) {
    archive("file", first.file);
    archive("offset", first.offset);
    archive("tensor", first.tensor);
    archive("index", first.index);
    archive("left", first.left);
    archive("right", first.right);
    archive("what", first.what);
  }
};

template <>
struct Fields<ArrayDistance> {
  static void visit(auto& archive, auto& distance) {
    archive("tensor", distance.tensor);
    archive("type", distance.type);
    archive("shape", distance.shape);
    archive("elements", distance.elements);
    archive("outside", distance.outside);
    archive("nan", distance.nan);
    archive("max_difference", distance.max_difference);
    archive("max_relative", distance.max_relative);
    archive("frobenius", distance.frobenius);
    archive("max_ulp", distance.max_ulp);
    archive("why", distance.why);
  }
};

template <>
struct Fields<Comparison> {
  static void visit(auto& archive, auto& comparison) {
    archive.schema(1);
    archive("is_same", comparison.is_same);
    archive("first", comparison.first);
    archive("arrays", comparison.arrays);
    archive("error", comparison.error);
    archive("reference_error", comparison.reference_error);
  }
};

}  // namespace tasks::archive
