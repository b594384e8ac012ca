// Takes and touches memory, 1 MiB at a time, up to the number of MiB given (default 4096).

#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 4096;
  constexpr std::size_t kBlock = std::size_t{1} << 20U;
  for (long i = 0; i < count; ++i) {
    void* const block = std::malloc(kBlock);
    if (block == nullptr) return 1;
    // Not zero, so that no page is the shared zero page.
    std::memset(block, 0x5a, kBlock);
  }
  return 0;
}
