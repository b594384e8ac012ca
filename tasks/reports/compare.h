// Compares what two runs left: bit for bit, or arrays within a tolerance. Everything read is
// hostile; files are read in pieces.
#pragma once

#include <optional>
#include <string>

#include "sandbox/os/result.h"
#include "tasks/comparison.h"
#include "tasks/reports/array_file.h"
#include "tasks/tolerance.h"

namespace tasks::reports {

// The first difference of two files; `file` is left empty. Within an array file, the element; in
// text, the words around it; else eight bytes of each. Nothing: they are the same.
os::Result<std::optional<Divergence>> first_difference(const ByteSource& left,
                                                       const ByteSource& right);

// Two outputs by their paths: both plain files, or both directories, whose files are compared in
// the order of their names. What cannot be read is the comparison's error.
Comparison compare_identical(const std::string& left, const std::string& right);

// The arrays of `left` against those of the reference `right`. Types and shapes must be the same; a
// constant output or reference is refused, since it proves nothing; NaN is never near.
Comparison compare_close(const ParityOutput& parity, const ByteSource& left,
                         const ByteSource& right);
Comparison compare_close(const ParityOutput& parity, const std::string& left,
                         const std::string& right);

// The numbers in force for an element's type.
Tolerance tolerance_for(const ParityOutput& parity, ElementType type);

}  // namespace tasks::reports
