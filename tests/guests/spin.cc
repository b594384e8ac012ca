// Uses CPU time and prints nothing, for as many seconds as given (default 60).

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace {
volatile std::sig_atomic_t is_over = 0;
}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGALRM, [](int) { is_over = 1; });
  ::alarm(argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 60);
  while (is_over == 0) {
  }
  return 0;
}
