// Starts threads until that fails or 2,000 run. Prints how many; exits 0 when it failed.

#include <unistd.h>

#include <cstdio>
#include <system_error>
#include <thread>
#include <vector>

int main() {
  std::vector<std::thread> threads;
  bool failed = false;
  while (!failed && threads.size() < 2000) {
    try {
      threads.emplace_back([] { ::sleep(60); });
    } catch (const std::system_error&) {
      failed = true;
    }
  }
  std::printf("%zu\n", threads.size());
  std::fflush(stdout);
  ::_exit(failed ? 0 : 1);
}
