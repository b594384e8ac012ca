#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

/// Softmax of each row of a row-major rows x columns matrix of floats in device memory:
/// out[r][c] = exp(in[r][c] - max_r) / sum over the row of exp(in[r][.] - max_r).
///
/// Stable: no finite input overflows. Masked cells (-inf) get 0; a row that is masked as a whole
/// gets zeros; a row with a NaN or +inf gets NaN in every cell. `out` may be `in`.
///
/// Queued on `stream`; returns without waiting. Nothing is launched for an empty matrix.
/// cudaErrorInvalidValue for a negative size or more than 2^31 - 1 rows; else what the launch
/// answered.
cudaError_t softmax_rows(const float* in, float* out, std::int64_t rows, std::int64_t columns,
                         cudaStream_t stream);
