#include <cfloat>

#include "softmax.h"

namespace {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;

/// What is known of a part of a row: its largest cell, and the sum of exp(cell - largest).
/// `largest` starts at the least finite float, so that -inf minus it is -inf and never NaN.
struct Partial {
  float largest = -FLT_MAX;
  float sum = 0;
};

__device__ Partial with(Partial part, float cell) {
  const float largest = fmaxf(part.largest, cell);
  // One of the two exponents is 0. A NaN cell is passed over by fmaxf and lands in the sum.
  return {largest, part.sum * expf(part.largest - largest) + expf(cell - largest)};
}

__device__ Partial merge(Partial a, Partial b) {
  const float largest = fmaxf(a.largest, b.largest);
  return {largest, a.sum * expf(a.largest - largest) + b.sum * expf(b.largest - largest)};
}

__device__ Partial merge_warp(Partial part) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const Partial other = {__shfl_xor_sync(0xffffffffU, part.largest, distance),
                           __shfl_xor_sync(0xffffffffU, part.sum, distance)};
    part = merge(part, other);
  }
  return part;
}

/// The whole block's merged partial, in every thread. blockDim.x is a multiple of a warp.
__device__ Partial merge_block(Partial part) {
  __shared__ float largest[kMaxThreads / kWarp];
  __shared__ float sum[kMaxThreads / kWarp];
  const int lane = threadIdx.x % kWarp;
  part = merge_warp(part);
  if (lane == 0) {
    largest[threadIdx.x / kWarp] = part.largest;
    sum[threadIdx.x / kWarp] = part.sum;
  }
  __syncthreads();
  part = lane < blockDim.x / kWarp ? Partial{largest[lane], sum[lane]} : Partial{};
  return merge_warp(part);
}

/// One block a row. Two passes over the row: an online maximum and sum, then the quotients.
/// Wide: rows are read and written four cells at a time.
template <bool kWide>
__global__ void softmax_kernel(const float* in, float* out, std::int64_t columns) {
  const std::int64_t start = blockIdx.x * columns;
  const std::int64_t steps = kWide ? columns / 4 : columns;
  const auto* wide_in = reinterpret_cast<const float4*>(in + start);
  auto* wide_out = reinterpret_cast<float4*>(out + start);

  Partial part;
  for (std::int64_t i = threadIdx.x; i < steps; i += blockDim.x) {
    if constexpr (kWide) {
      const float4 cells = wide_in[i];
      part = with(with(with(with(part, cells.x), cells.y), cells.z), cells.w);
    } else {
      part = with(part, in[start + i]);
    }
  }
  part = merge_block(part);

  // A wholly masked row has sum 0: its quotients are 0 * 0, not 0 / 0.
  const float scale = part.sum == 0 ? 0 : 1 / part.sum;
  const auto quotient = [part, scale](float cell) { return expf(cell - part.largest) * scale; };
  for (std::int64_t i = threadIdx.x; i < steps; i += blockDim.x) {
    if constexpr (kWide) {
      const float4 cells = wide_in[i];
      wide_out[i] = {quotient(cells.x), quotient(cells.y), quotient(cells.z), quotient(cells.w)};
    } else {
      out[start + i] = quotient(in[start + i]);
    }
  }
}

bool is_aligned(const float* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(float4) == 0;
}

}  // namespace

cudaError_t softmax_rows(const float* in, float* out, std::int64_t rows, std::int64_t columns,
                         cudaStream_t stream) {
  if (rows < 0 || columns < 0 || rows > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  if (rows == 0 || columns == 0) {
    return cudaSuccess;
  }
  const bool wide = columns % 4 == 0 && is_aligned(in) && is_aligned(out);
  const std::int64_t steps = wide ? columns / 4 : columns;
  int threads = kWarp;
  while (threads < kMaxThreads && threads < steps) {
    threads *= 2;
  }
  const auto blocks = static_cast<unsigned>(rows);
  if (wide) {
    softmax_kernel<true><<<blocks, threads, 0, stream>>>(in, out, columns);
  } else {
    softmax_kernel<false><<<blocks, threads, 0, stream>>>(in, out, columns);
  }
  return cudaGetLastError();
}
