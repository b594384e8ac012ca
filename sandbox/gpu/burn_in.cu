// gpu_burn_in: tests one GPU (the one that CUDA_VISIBLE_DEVICES names) that a fault took out of
// service: its memory with patterns, its arithmetic with a matrix product against one of the CPU
// and against itself, its copies by their bandwidth.
//
// Exit: 0 passed; 1 failed (one line on standard output says what); 2 there is no GPU.
#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t kBlock = std::size_t{256} << 20;
constexpr int kSide = 512;       // of the matrices that the CPU multiplies as well
constexpr int kProducts = 2000;  // repetitions that must all give the same bits
constexpr int kTile = 16;
constexpr std::size_t kCopy = std::size_t{256} << 20;
constexpr int kCopies = 8;
// Far below what any GPU of the last ten years does in good health: less means a link or a memory
// that fails and retries.
constexpr double kLeastDeviceGbPerSecond = 50;
constexpr double kLeastHostGbPerSecond = 0.5;

#define CHECKED(call)                                              \
  do {                                                             \
    if (const cudaError_t error = (call); error != cudaSuccess) {  \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error));   \
      return false;                                                \
    }                                                              \
  } while (false)

// The word that belongs to a place: patterns differ by their seed, and no two places of a block
// hold the same, so that a wrong address line shows as well.
__device__ unsigned word_of(std::size_t place, unsigned seed) {
  auto value = static_cast<unsigned>(place ^ (place >> 32)) * 2654435761u;
  value ^= seed;
  return seed & 1u ? ~value : value;
}

__global__ void write_pattern(unsigned* words, std::size_t count, unsigned seed) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    words[i] = word_of(i, seed);
}

__global__ void check_pattern(const unsigned* words, std::size_t count, unsigned seed,
                              unsigned long long* wrong) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    mine += words[i] != word_of(i, seed);
  if (mine != 0) atomicAdd(wrong, mine);
}

__global__ void multiply(const float* a, const float* b, float* c, int side) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = static_cast<int>(blockIdx.y) * kTile + static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kTile + static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int tile = 0; tile < side; tile += kTile) {
    left[threadIdx.y][threadIdx.x] = a[row * side + tile + static_cast<int>(threadIdx.x)];
    right[threadIdx.y][threadIdx.x] = b[(tile + static_cast<int>(threadIdx.y)) * side + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum = fmaf(left[threadIdx.y][k], right[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * side + column] = sum;
}

__global__ void compare_bits(const float* a, const float* b, int count, unsigned long long* wrong) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count && __float_as_uint(a[i]) != __float_as_uint(b[i])) atomicAdd(wrong, 1ull);
}

bool test_memory(unsigned long long* wrong) {
  std::vector<unsigned*> blocks;
  void* memory = nullptr;
  while (cudaMalloc(&memory, kBlock) == cudaSuccess)
    blocks.push_back(static_cast<unsigned*>(memory));
  cudaGetLastError();
  if (blocks.empty()) {
    std::printf("no memory can be had\n");
    return false;
  }
  const std::size_t count = kBlock / sizeof(unsigned);
  for (const unsigned seed : {0u, 1u, 0xaaaaaaaau, 0x55555555u, 0xdeadbeefu, 0x12345679u}) {
    // All are written before the first is read: what a write to one does to another is seen.
    for (unsigned* const block : blocks) write_pattern<<<1024, 256>>>(block, count, seed);
    for (const unsigned* const block : blocks)
      check_pattern<<<1024, 256>>>(block, count, seed, wrong);
  }
  CHECKED(cudaDeviceSynchronize());
  for (unsigned* const block : blocks) CHECKED(cudaFree(block));
  if (*wrong == 0) return true;
  std::printf("memory: %llu words do not hold what was written\n", *wrong);
  return false;
}

bool test_product(unsigned long long* wrong) {
  constexpr int kCount = kSide * kSide;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  std::vector<float> got(kCount);
  unsigned state = 1;
  const auto draw = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  };
  for (float& value : a) value = draw();
  for (float& value : b) value = draw();
  float* device[4] = {};
  for (float*& matrix : device) CHECKED(cudaMalloc(&matrix, kBytes));
  CHECKED(cudaMemcpy(device[0], a.data(), kBytes, cudaMemcpyHostToDevice));
  CHECKED(cudaMemcpy(device[1], b.data(), kBytes, cudaMemcpyHostToDevice));
  const dim3 grid(kSide / kTile, kSide / kTile);
  const dim3 block(kTile, kTile);
  multiply<<<grid, block>>>(device[0], device[1], device[2], kSide);
  for (int round = 0; round < kProducts; ++round) {
    multiply<<<grid, block>>>(device[0], device[1], device[3], kSide);
    compare_bits<<<kCount / 256, 256>>>(device[2], device[3], kCount, wrong);
  }
  CHECKED(cudaMemcpy(got.data(), device[2], kBytes, cudaMemcpyDeviceToHost));
  for (float* const matrix : device) CHECKED(cudaFree(matrix));
  if (*wrong != 0) {
    std::printf("arithmetic: %llu results of the same product differ\n", *wrong);
    return false;
  }
  // The error of a sum of kSide products of numbers below 0.5 in single precision stays well below
  // this (Higham, Accuracy and Stability of Numerical Algorithms, 3.5).
  constexpr double kTolerance = 1e-4;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      double sum = 0;
      for (int k = 0; k < kSide; ++k)
        sum += static_cast<double>(a[row * kSide + k]) * b[k * kSide + column];
      if (!(std::fabs(sum - got[row * kSide + column]) <= kTolerance)) {
        std::printf("arithmetic: element %d,%d is %g instead of %g\n", row, column,
                    static_cast<double>(got[row * kSide + column]), sum);
        return false;
      }
    }
  return true;
}

// The bandwidth of copies of one kind; 0 where they fail.
double bandwidth(void* to, const void* from, cudaMemcpyKind kind) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  float milliseconds = 0;
  if (cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess) return 0;
  cudaEventRecord(begin);
  for (int round = 0; round < kCopies; ++round) cudaMemcpyAsync(to, from, kCopy, kind);
  cudaEventRecord(end);
  if (cudaEventSynchronize(end) != cudaSuccess) return 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds > 0 ? static_cast<double>(kCopy) * kCopies / milliseconds / 1e6 : 0;
}

bool test_copies() {
  void* one = nullptr;
  void* other = nullptr;
  void* host = nullptr;
  void* back = nullptr;
  CHECKED(cudaMalloc(&one, kCopy));
  CHECKED(cudaMalloc(&other, kCopy));
  CHECKED(cudaMallocHost(&host, kCopy));
  CHECKED(cudaMallocHost(&back, kCopy));
  for (std::size_t i = 0; i < kCopy; ++i)
    static_cast<unsigned char*>(host)[i] = static_cast<unsigned char>(i * 131 + (i >> 11));
  const double up = bandwidth(one, host, cudaMemcpyHostToDevice);
  const double inside = bandwidth(other, one, cudaMemcpyDeviceToDevice);
  const double down = bandwidth(back, other, cudaMemcpyDeviceToHost);
  CHECKED(cudaDeviceSynchronize());
  const bool is_same = std::memcmp(host, back, kCopy) == 0;
  CHECKED(cudaFree(one));
  CHECKED(cudaFree(other));
  CHECKED(cudaFreeHost(host));
  CHECKED(cudaFreeHost(back));
  std::printf("copies: %.1f GB/s to it, %.1f inside, %.1f from it\n", up, inside, down);
  if (!is_same) std::printf("copies: what came back is not what was sent\n");
  return is_same && inside >= kLeastDeviceGbPerSecond && up >= kLeastHostGbPerSecond &&
         down >= kLeastHostGbPerSecond;
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices < 1) {
    std::printf("no GPU: %s\n", cudaGetErrorString(error));
    return 2;
  }
  unsigned long long* wrong = nullptr;
  if (const cudaError_t error = cudaMallocManaged(&wrong, sizeof *wrong); error != cudaSuccess) {
    std::printf("counter: %s\n", cudaGetErrorString(error));
    return 1;
  }
  *wrong = 0;
  if (!test_memory(wrong) || !test_product(wrong) || !test_copies()) return 1;
  std::printf("passed\n");
  return 0;
}
