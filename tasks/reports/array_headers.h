// The headers of array files. See array_file.h, which checks that arrays fill their file.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sandbox/os/result.h"
#include "tasks/reports/array_file.h"

namespace tasks::reports {

// NEP 1 and numpy/lib/format.py: magic, version, header's length, a Python literal, data.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

// The array of a .npy file, versions 1 to 3. invalid: not such a file, a structured or object type,
// over 2^62 bytes.
os::Result<ArrayLayout> read_npy_header(const ByteSource& source);

// The tensors of a safetensors file, appended in the header's order; gives where their data begins.
// Format: 8 bytes of the header's length, JSON {name: {dtype, shape, data_offsets}}, data
// (github.com/huggingface/safetensors, README).
os::Result<std::uint64_t> read_safetensors_header(const ByteSource& source,
                                                  std::vector<ArrayLayout>& layouts);

// Product of a shape whose array is of at most 2^62 bytes; invalid for negative numbers, over 32
// axes and larger arrays.
os::Result<std::uint64_t> count_elements(const std::vector<std::int64_t>& shape, ElementType type);

}  // namespace tasks::reports
