// Takes and touches memory, 4 MiB at a time, up to the number of MiB given (default 4096). In huge
// pages where the kernel has them: a machine with slow page faults must not save it from its limit.

#include <sys/mman.h>

#include <cstdlib>

int main(int argc, char** argv) {
  const long mebibytes = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 4096;
  constexpr std::size_t kBlock = std::size_t{4} << 20U;
  for (long taken = 0; taken < mebibytes; taken += 4) {
    void* const block =
        ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) return 1;
    ::madvise(block, kBlock, MADV_HUGEPAGE);
    for (std::size_t at = 0; at < kBlock; at += 4096) static_cast<volatile char*>(block)[at] = 1;
  }
  return 0;
}
