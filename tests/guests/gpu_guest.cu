// A program with one misdeed on a GPU:
//   gpu_guest hold     keeps a context open until it is killed
//   gpu_guest hog      takes all memory it can get, and fills it with a word
//   gpu_guest residue  prints how many words of fresh memory hold that word
//   gpu_guest spin     runs a kernel that never ends
//   gpu_guest trap     runs a kernel that traps, and ends with 3
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr unsigned kCanary = 0xc0ffee11u;
constexpr std::size_t kBlock = std::size_t{64} << 20;

__global__ void spin(volatile unsigned* word) {
  while (*word == 0) {
  }
}

__global__ void trap() { __trap(); }

__global__ void fill(unsigned* words, std::size_t count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    words[i] = kCanary;
}

__global__ void count_canaries(const unsigned* words, std::size_t count,
                               unsigned long long* found) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    if (words[i] == kCanary) atomicAdd(found, 1ull);
}

std::vector<unsigned*> take_all() {
  std::vector<unsigned*> blocks;
  for (void* memory = nullptr; cudaMalloc(&memory, kBlock) == cudaSuccess;)
    blocks.push_back(static_cast<unsigned*>(memory));
  cudaGetLastError();
  return blocks;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const mode = argc > 1 ? argv[1] : "";
  if (const cudaError_t error = cudaFree(nullptr); error != cudaSuccess) {
    std::printf("no GPU: %s\n", cudaGetErrorString(error));
    return 2;
  }
  if (std::strcmp(mode, "hold") == 0) {
    std::printf("held\n");
    std::fflush(stdout);
    while (true) pause();
  }
  if (std::strcmp(mode, "trap") == 0) {
    trap<<<1, 1>>>();
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
  }
  unsigned long long* found = nullptr;
  if (cudaMallocManaged(&found, sizeof *found) != cudaSuccess) return 1;
  *found = 0;
  if (std::strcmp(mode, "spin") == 0) {
    spin<<<1, 1>>>(reinterpret_cast<unsigned*>(found));
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  }
  for (unsigned* const block : take_all()) {
    if (std::strcmp(mode, "hog") == 0)
      fill<<<1024, 256>>>(block, kBlock / sizeof(unsigned));
    else
      count_canaries<<<1024, 256>>>(block, kBlock / sizeof(unsigned), found);
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::printf("%llu\n", *found);
  return 0;
}
