// `end_with code N` exits with N, `end_with signal N` kills itself by signal N.

#include <csignal>
#include <cstdlib>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 3) return 99;
  const int number = std::atoi(argv[2]);
  if (std::strcmp(argv[1], "signal") == 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  return number;
}
