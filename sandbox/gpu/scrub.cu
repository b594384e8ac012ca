// gpu_scrub: overwrites the free memory of one GPU (the one that CUDA_VISIBLE_DEVICES names), so
// that nobody finds what the last user left, and reads it back.
//
// Exit: 0 cleared; 1 it could not be (one line on standard output says why); 2 there is no GPU.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

// Word of the memory after the scrub: neither zero, which fresh memory may hold by chance, nor a
// small number.
constexpr unsigned kWord = 0xa5c3f00du;
constexpr std::size_t kBlock = std::size_t{256} << 20;  // allocated at a time
constexpr std::size_t kLeast = std::size_t{1} << 20;    // what is smaller is not worth a try
// The driver keeps some memory for itself, and pages of other sizes leave gaps.
constexpr double kMostLeft = 0.02;

int fail(const char* what, cudaError_t error) {
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  return 1;
}

__global__ void fill(unsigned* words, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    words[i] = kWord;
}

__global__ void compare(const unsigned* words, std::size_t count, unsigned long long* wrong) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    mine += words[i] != kWord;
  if (mine != 0) atomicAdd(wrong, mine);
}

// Registers and shared memory of every multiprocessor keep values over a kernel's end as well.
__global__ void clear_shared(unsigned words) {
  extern __shared__ unsigned shared[];
  for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = kWord;
  __syncthreads();
  if (shared[words - 1] != kWord) __trap();
}

struct Block {
  unsigned* words;
  std::size_t bytes;
};

// All memory that can be had, in blocks that get smaller as it runs out.
std::vector<Block> take_all() {
  std::vector<Block> blocks;
  for (std::size_t size = kBlock; size >= kLeast;) {
    void* memory = nullptr;
    if (cudaMalloc(&memory, size) == cudaSuccess) {
      blocks.push_back({static_cast<unsigned*>(memory), size});
    } else {
      cudaGetLastError();
      size /= 2;
    }
  }
  return blocks;
}

cudaError_t clear_shared_memory() {
  cudaDeviceProp device{};
  if (const cudaError_t error = cudaGetDeviceProperties(&device, 0); error != cudaSuccess)
    return error;
  const auto bytes = static_cast<int>(device.sharedMemPerBlockOptin);
  if (const cudaError_t error = cudaFuncSetAttribute(
          clear_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
      error != cudaSuccess)
    return error;
  clear_shared<<<device.multiProcessorCount * 4, 1024, static_cast<std::size_t>(bytes)>>>(
      static_cast<unsigned>(bytes) / 4);
  return cudaDeviceSynchronize();
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices < 1) {
    std::printf("no GPU: %s\n", cudaGetErrorString(error));
    return 2;
  }
  std::size_t free_before = 0;
  std::size_t total = 0;
  if (const cudaError_t error = cudaMemGetInfo(&free_before, &total); error != cudaSuccess)
    return fail("memory", error);
  unsigned long long* wrong = nullptr;
  if (const cudaError_t error = cudaMallocManaged(&wrong, sizeof *wrong); error != cudaSuccess)
    return fail("counter", error);
  *wrong = 0;
  const std::vector<Block> blocks = take_all();
  std::size_t cleared = 0;
  for (const Block& block : blocks) {
    fill<<<1024, 256>>>(block.words, block.bytes / sizeof(unsigned));
    compare<<<1024, 256>>>(block.words, block.bytes / sizeof(unsigned), wrong);
    cleared += block.bytes;
  }
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
    return fail("scrub", error);
  if (*wrong != 0) {
    std::printf("%llu words do not hold what was written\n", *wrong);
    return 1;
  }
  const auto needed = static_cast<double>(free_before) - kMostLeft * static_cast<double>(total);
  if (static_cast<double>(cleared) < needed) {
    std::printf("only %zu of %zu free bytes could be cleared\n", cleared, free_before);
    return 1;
  }
  if (const cudaError_t error = clear_shared_memory(); error != cudaSuccess)
    return fail("shared memory", error);
  std::printf("cleared %zu bytes\n", cleared);
  return 0;
}
